#include "asked_oracle.hpp"

#include "cli_error.hpp"
#include "named_stores.hpp"
#include "text.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/text_file.hpp"
#include "oracle_store/signature_store.hpp"
#include "sim/deployment.hpp"
#include "sim/profile_store.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace dooly::cli {
namespace {

std::uint32_t whole(const char* option, const std::optional<std::string>& text, std::uint32_t fallback) {
  if (!text) return fallback;
  std::uint32_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || value == 0)
    throw UsageError(std::string(option) + ": must be a whole number of at least 1, got '" + *text + "'");
  return value;
}

std::vector<std::filesystem::path> store_paths(const std::vector<std::string>& stores) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& store : stores) {
    const std::vector<std::filesystem::path> found = named_stores(store, "--store");
    paths.insert(paths.end(), found.begin(), found.end());
  }
  return paths;
}

/// A file, or a plan that one of the stores holds.
std::string plan_text(const std::string& name, const std::vector<std::filesystem::path>& stores) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored) && !std::filesystem::is_directory(name, ignored))
    return oracle::read_text_file(name);
  std::vector<std::string> known;
  for (const std::filesystem::path& path : stores) {
    if (!std::filesystem::is_directory(path, ignored)) continue;
    const auto opened = store::SignatureStore::open(path, store::SignatureStore::Mode::kRead);
    if (const auto text = opened.plan(name)) return *text;
    for (const std::string& plan : opened.plans()) known.push_back(plan);
  }
  throw UsageError("--plan: no such file, and no store holds a plan of that name, got '" + name + "'" +
                   (known.empty() ? "; dooly plan --out writes one" : "; stored: " + listed(known)));
}

oracle::StepPlan plan_of(const std::string& name, const std::vector<std::filesystem::path>& stores) {
  const std::string text = plan_text(name, stores);
  try {
    oracle::StepPlan plan = oracle::parse_plan(text);
    if (plan.entries.empty()) throw oracle::OracleError("step plan: entries: is empty: a step has operators");
    return plan;
  } catch (const oracle::OracleError& error) {
    throw UsageError(name + ": " + error.what());
  }
}

const oracle::Gpu& gpu_of(const std::optional<std::string>& asked, const std::vector<std::filesystem::path>& stores,
                          const std::string& environment) {
  if (asked) return oracle::find_gpu(*asked);
  const std::vector<std::string> gpus = sim::profiled_gpus(stores, environment);
  if (gpus.size() == 1) return oracle::find_gpu(gpus.front());
  if (gpus.empty() && !environment.empty())
    throw UsageError("--environment: no environment of the stores that names a GPU holds this, got '" + environment +
                     "'; dooly store ls lists them");
  throw UsageError(gpus.empty() ? std::string("--gpu: needed, the stores name no GPU")
                                : "--gpu: needed, the stores have several: " + listed(gpus));
}

}  // namespace

std::vector<OptionSpec> OracleArguments::options() {
  return {{"--plan", "P", "a step plan: a file of dooly plan --out, or the name of one in the store", &plan},
          {"--store", "S", "a store directory, a .jsonl.zst or a shipped one's name; several are merged", &stores},
          {"--gpu", "NAME", "which device (default: the store's only one)", &gpu},
          {"--environment", "TEXT", "only environments whose id or description holds this", &environment},
          {"--platform", "NAME", "host times and clock (default: those of the GPU)", &platform},
          {"--max-num-batched-tokens", "N", "size of the table (default 8192)", &max_tokens},
          {"--max-num-seqs", "N", "and of the captured graphs (default 1024)", &max_seqs},
          {"--enforce-eager", "", "no CUDA graphs, so no padding", &eager},
          {"--no-roofline", "", "refuse operators that no store answers", &no_roofline}};
}

std::unique_ptr<oracle::ProfiledOracle> OracleArguments::make() const {
  if (!plan) throw UsageError("--plan: needed, which operators a step has");
  if (stores.empty())
    throw UsageError("--store: needed, where the measured latencies lie: a directory, a file, or a name as h200");
  const std::vector<std::filesystem::path> paths = store_paths(stores);
  try {
    const oracle::StepPlan step = plan_of(*plan, paths);
    const oracle::Gpu& device = gpu_of(gpu, paths, environment.value_or(""));
    const auto source = sim::open_profiles(paths, device.name, environment.value_or(""));
    oracle::CompileSettings settings;
    settings.max_num_batched_tokens = whole("--max-num-batched-tokens", max_tokens, settings.max_num_batched_tokens);
    settings.max_num_seqs = whole("--max-num-seqs", max_seqs, settings.max_num_seqs);
    settings.use_roofline = !no_roofline;
    if (!eager)
      settings.capture_sizes =
          oracle::CudaGraphs::default_sizes(settings.max_num_seqs, settings.max_num_batched_tokens);
    const oracle::SampleSource* sources[] = {source.get()};
    return std::make_unique<oracle::ProfiledOracle>(
        step, sources, device, settings,
        oracle::find_platform(platform ? *platform : std::string(oracle::default_platform(device.name))));
  } catch (const oracle::OracleError& error) {  // a StoreError is one
    throw UsageError(error.what());
  }
}

double iteration_seconds(const oracle::StepCost& cost) {
  return std::max(cost.device.total(), cost.host.launch - cost.host.launch_lead);
}

}  // namespace dooly::cli
