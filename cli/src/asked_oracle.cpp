#include "asked_oracle.hpp"

#include "cli_error.hpp"
#include "named_stores.hpp"
#include "text.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/text_file.hpp"
#include "oracle/usable_sample.hpp"
#include "oracle_store/signature_store.hpp"
#include "sim/deployment.hpp"
#include "sim/profile_store.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>

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
  const std::vector<std::string> gpus =
      asked && environment.empty() ? std::vector<std::string>{} : sim::profiled_gpus(stores, environment);
  if (gpus.empty() && !environment.empty())
    throw UsageError("--environment: no environment of the stores has this in its id or description, got '" +
                     environment + "'; dooly store ls lists them");
  if (asked) return oracle::find_gpu(*asked);
  if (gpus.size() == 1) return oracle::find_gpu(gpus.front());
  throw UsageError(gpus.empty() ? std::string("--gpu: needed, the stores name no GPU")
                                : "--gpu: needed, the stores have several: " + listed(gpus));
}

/// The plan, or where nobody asked for its back end and another was measured, that one's; says so.
oracle::StepPlan of_measured_backend(const oracle::StepPlan& plan, const oracle::Gpu& gpu,
                                     const oracle::SampleSource& source, const Terminal& terminal) {
  if (plan.backend == "torch") return plan;  // its other kernels are LibTorch's, too
  oracle::StepPlan measured = sim::with_measured_backend(
      plan, gpu.name, [&](std::string_view backend) { return oracle::with_backend(plan, backend); },
      [&](const oracle::Signature& signature) { return oracle::has_answer(source, signature); });
  if (measured.backend == plan.backend) return plan;
  const std::string what = "attention: the store has none of " + plan.backend + ", but of " + measured.backend;
  if (plan.backend_is_default) {
    terminal.note(what + ", which answers (dooly plan --backend decides)");
    return measured;
  }
  terminal.warning(what + "; the plan asks for " + plan.backend + " (dooly plan --backend " + measured.backend + ")");
  return plan;
}

}  // namespace

std::vector<OptionSpec> OracleArguments::options() {
  return {{"--plan", "P", "a step plan: a file of dooly plan --out, or the name of one in the store", &plan},
          {"--store", "S", "a store directory, a .jsonl.zst or a shipped one's name; several are merged", &stores},
          {"--oracle",
           "KIND",
           "as in scenarios: profiled (default: by --store, else by roofline), or roofline alone",
           &kind,
           {"profiled", "roofline"}},
          {"--gpu", "NAME", "which device (default: the store's only one)", &gpu},
          {"--environment", "TEXT", "only environments whose id or description holds this", &environment},
          {"--platform", "NAME", "host times and clock (default: those of the GPU)", &platform},
          {"--max-num-batched-tokens", "N", "size of the table (default 8192)", &max_tokens},
          {"--max-num-seqs", "N", "and of the captured graphs (default 1024)", &max_seqs},
          {"--enforce-eager", "", "no CUDA graphs, so no padding", &eager},
          {"--no-roofline", "", "refuse operators that no store answers", &no_roofline}};
}

std::unique_ptr<oracle::ProfiledOracle> OracleArguments::compiled(const oracle::StepPlan& step,
                                                                  const oracle::SampleSource* source,
                                                                  const oracle::Gpu& device) const {
  oracle::CompileSettings settings;
  settings.max_num_batched_tokens = whole("--max-num-batched-tokens", max_tokens, settings.max_num_batched_tokens);
  settings.max_num_seqs = whole("--max-num-seqs", max_seqs, settings.max_num_seqs);
  settings.use_roofline = !no_roofline;
  if (!eager)
    settings.capture_sizes = oracle::CudaGraphs::default_sizes(settings.max_num_seqs, settings.max_num_batched_tokens);
  const std::span<const oracle::SampleSource* const> sources(&source, source != nullptr ? 1 : 0);
  oracle::Platform around =
      oracle::find_platform(platform ? *platform : std::string(oracle::default_platform(device.name)));
  if (sources.empty()) around.clock = {};  // the roofline of scenarios knows no clock
  return std::make_unique<oracle::ProfiledOracle>(step, sources, device, settings, around);
}

/// No store is opened; a plan is a file then.
std::unique_ptr<oracle::ProfiledOracle> OracleArguments::make_roofline() const {
  const char* const given = !stores.empty() ? "--store" : environment ? "--environment" : nullptr;
  if (given != nullptr) throw UsageError(std::string(given) + ": --oracle roofline asks no store");
  if (no_roofline) throw UsageError("--no-roofline: with --oracle roofline nobody is left to answer");
  if (!gpu) throw UsageError("--gpu: needed, whose roofline");
  return compiled(plan_of(*plan, {}), nullptr, oracle::find_gpu(*gpu));
}

std::unique_ptr<oracle::ProfiledOracle> OracleArguments::make(const Terminal& terminal) const {
  if (!plan) throw UsageError("--plan: needed, which operators a step has");
  if (stores.empty() && !is_roofline())
    throw UsageError("--store: needed, where the measured latencies lie: a directory, a file, or a name as h200");
  try {
    if (is_roofline()) return make_roofline();
    const std::vector<std::filesystem::path> paths = store_paths(stores);
    const oracle::StepPlan step = plan_of(*plan, paths);
    const oracle::Gpu& device = gpu_of(gpu, paths, environment.value_or(""));
    const auto source = sim::open_profiles(paths, device.name, environment.value_or(""));
    return compiled(of_measured_backend(step, device, *source, terminal), source.get(), device);
  } catch (const oracle::OracleError& error) {  // a StoreError is one
    throw UsageError(error.what());
  }
}

double iteration_seconds(const oracle::StepCost& cost) {
  return std::max(cost.device.total(), cost.host.launch - cost.host.launch_lead);
}

}  // namespace dooly::cli
