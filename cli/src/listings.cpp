#include "listings.hpp"

#include "text.hpp"

#include "oracle/gpu.hpp"
#include "oracle/model_table.hpp"
#include "oracle/oracle_factory.hpp"
#include "oracle/platform.hpp"
#include "schedulers/builtin.hpp"
#include "schedulers/option_check.hpp"
#include "schedulers/plugin_loader.hpp"
#include "workload/trace_reader.hpp"

#include <fmt/format.h>

#include <map>
#include <span>
#include <string_view>

namespace dooly::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Plugin = std::optional<std::filesystem::path>;

/// Name, help and option schema of policies, routers or oracles.
template <class Entry>
Rows components(std::span<const Entry> entries) {
  Rows rows;
  for (const Entry& entry : entries) {
    std::string options;
    for (const sdk::OptionSpec& option : entry.options)
      options += (options.empty() ? " [options: " : "; ") + schedulers::describe(option);
    rows.push_back({entry.name, entry.help + options + (options.empty() ? "" : "]")});
  }
  return rows;
}

Rows policies(const Plugin& plugin) {
  return components(plugin ? schedulers::load_plugin(*plugin).policies : schedulers::builtin_policies());
}

Rows routers(const Plugin& plugin) {
  return components(plugin ? schedulers::load_plugin(*plugin).routers : schedulers::builtin_routers());
}

Rows oracles(const Plugin& plugin) {
  if (plugin) return components(schedulers::load_plugin(*plugin).oracles);
  Rows rows;
  for (const oracle::OracleKind& kind : oracle::oracle_kinds()) {
    rows.push_back({std::string(kind.name), std::string(kind.meaning)});
  }
  return rows;
}

Rows formats(const Plugin&) {
  const std::map<std::string_view, const char*> meanings = {
      {"azure", "Azure LLM inference traces 2023 and 2024: TIMESTAMP,ContextTokens,GeneratedTokens"},
      {"mooncake", "Mooncake JSON lines: timestamp, input_length, output_length, hash_ids of 512 tokens"},
      {"burstgpt", "BurstGPT: Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"},
      {"vidur", "Vidur: arrived_at,num_prefill_tokens,num_decode_tokens"},
      {"llmservingsim", "LLMServingSim, flat JSON lines"},
      {"sharegpt", "lengths of ShareGPT conversations, no times: needs `arrivals`"},
      {"apex", "APEX"},
      {"vllm-bench", "result JSON of `vllm bench serve`, where it has start times"},
      {"servegen", "client statistics of ServeGen: requests are drawn from them"},
      {"dooly", "our own, CSV or JSON lines: arrival_s, prompt_tokens, output_tokens and more"}};
  Rows rows;
  for (const std::string& format : workload::trace_formats()) {
    const auto found = meanings.find(format);
    rows.push_back({format, found == meanings.end() ? "" : found->second});
  }
  return rows;
}

Rows gpus(const Plugin&) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  Rows rows;
  for (const oracle::Gpu& gpu : oracle::shipped_gpus()) {
    rows.push_back({std::string(gpu.name), fmt::format("{:.1f} GiB", gpu.memory_bytes / kGiB),
                    fmt::format("{:.0f} GB/s", gpu.memory_bandwidth / 1e9),
                    fmt::format("{:.0f} TFLOP/s at 16 bits", gpu.flops_16 / 1e12),
                    gpu.flops_8 > 0 ? fmt::format("{:.0f} at 8", gpu.flops_8 / 1e12) : "none at 8",
                    fmt::format("{} {:.0f} GB/s", gpu.has_nvlink ? "NVLink" : "PCIe", gpu.link_bandwidth / 1e9)});
  }
  return rows;
}

Rows models(const Plugin&) {
  Rows rows;
  for (const oracle::ShippedModel& shipped : oracle::shipped_models()) {
    const oracle::ModelConfig model = oracle::find_model(shipped.name);
    rows.push_back({std::string(shipped.name), model.family, fmt::format("{} layers", model.layers.size()),
                    fmt::format("hidden {}", model.hidden),
                    model.moe ? fmt::format("{} experts", model.moe->experts) : "dense",
                    fmt::format("context {}", model.max_position)});
  }
  return rows;
}

Rows platforms(const Plugin&) {
  Rows rows;
  for (const oracle::ShippedPlatform& platform : oracle::shipped_platforms())
    rows.push_back({std::string(platform.name), std::string(platform.meaning)});
  return rows;
}

/// As a scenario writes it.
std::string written_time(double seconds) {
  if (seconds >= 1 || seconds == 0) return fmt::format("{:g}s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:g}ms", seconds * 1e3) : fmt::format("{:g}us", seconds * 1e6);
}

Rows host_times(const Plugin&) {
  std::vector<oracle::Platform> shipped;
  for (const oracle::ShippedPlatform& platform : oracle::shipped_platforms())
    if (platform.name != "none") shipped.push_back(oracle::find_platform(platform.name));
  Rows rows;
  for (const oracle::PlatformTerm& term : oracle::platform_terms()) {
    rows.push_back({std::string(term.key)});
    for (const oracle::Platform& platform : shipped)
      rows.back().push_back(platform.name + " " + written_time(oracle::platform_term(platform, term.key)));
    rows.back().emplace_back(term.meaning);
  }
  return rows;
}

}  // namespace

const std::vector<Listing>& listings() {
  static const std::vector<Listing> kListings = {
      {"policies", "scheduling policies: pools.NAME.scheduler.policy", policies, true},
      {"routers", "routers: pools.NAME.router.policy", routers, true},
      {"oracles", "kinds of latency oracle: oracle", oracles, true},
      {"formats", "trace formats: workload.trace.format", formats},
      {"gpus", "GPUs: gpu", gpus},
      {"models", "models that ship: model; any config.json does, too", models},
      {"platforms", "host times that ship: platform.host, platform.base", platforms},
      {"host-times", "single host times, as each platform has them: platform.host.NAME", host_times}};
  return kListings;
}

}  // namespace dooly::cli
