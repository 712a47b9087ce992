#include "sim/profile_store.hpp"

#include "oracle/gpu.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle_store/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

namespace dooly::sim {
namespace {

bool passes(const std::string& id, const oracle::Environment& environment, std::string_view wanted) {
  return wanted.empty() || id.starts_with(wanted) || store::title(environment).find(wanted) != std::string::npos;
}

/// `gpu` is a name of the GPU table; processors keep their own names in environments.
bool is_of(const oracle::Environment& environment, std::string_view gpu) {
  return environment.gpu == gpu || (gpu == "CPU" && environment.gpu.starts_with("CPU "));
}

/// How far the links of an environment are from a deployment's; those of operators without links are everybody's.
/// Importers write `nvlink`, `pairwise-nvlink` and, of several nodes, `2x4 nvlink + network`.
int distance(std::string_view topology, const RankSpread& spread) {
  const bool spans_nodes = topology.ends_with(" + network");
  if (topology.empty()) return 0;
  if (spread.nodes == 1) return spans_nodes ? 2 : topology.starts_with("pairwise-") ? 1 : 0;
  if (!spans_nodes) return 2;
  return topology.starts_with(fmt::format("{}x{} ", spread.nodes, spread.gpus)) ? 0 : 1;
}

}  // namespace

std::unique_ptr<oracle::SampleSource> open_profiles(const std::vector<std::filesystem::path>& paths,
                                                    std::string_view gpu, std::string_view environment,
                                                    const RankSpread& spread) {
  return store::open_sample_source(paths,
                                   [gpu = std::string(gpu), wanted = std::string(environment), spread](
                                       const std::string& id, const oracle::Environment& each) -> std::optional<int> {
                                     if (!is_of(each, gpu) || !passes(id, each, wanted)) return std::nullopt;
                                     return 2 * distance(each.topology, spread) + (each.source == "measured" ? 0 : 1);
                                   });
}

std::vector<std::string> profiled_gpus(const std::vector<std::filesystem::path>& paths, std::string_view environment) {
  std::set<std::string> gpus;
  for (const std::filesystem::path& path : paths) {
    const auto records = store::open_records(path);
    store::Record record;
    while (records->next(record)) {  // environments come first
      const auto* found = std::get_if<store::EnvironmentRecord>(&record);
      if (found == nullptr) break;
      if (passes(found->id, found->environment, environment)) gpus.insert(found->environment.gpu);
    }
  }
  return {gpus.begin(), gpus.end()};
}

std::string shipped_store(const std::filesystem::path& directory, std::string_view gpu) {
  constexpr std::string_view kEnding = ".jsonl.zst";
  std::string wanted;
  try {
    wanted = oracle::find_gpu(gpu).name;
  } catch (const oracle::OracleError&) {  // whoever reads the scenario reports it
    return {};
  }
  std::string wanted_lower = wanted;
  std::transform(wanted.begin(), wanted.end(), wanted_lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::set<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored))
    if (entry.path().filename().string().ends_with(kEnding)) files.insert(entry.path());
  for (const std::filesystem::path& file : files) {
    const std::string name = file.filename().string();
    const std::size_t dash = name.find('-');
    if (dash == 0 || dash == std::string::npos) continue;
    if (!wanted_lower.starts_with(name.substr(0, dash))) continue;  // another GPU's, which may be what it likes
    const std::vector<std::string> gpus = profiled_gpus({file});
    if (std::find(gpus.begin(), gpus.end(), wanted) != gpus.end()) return name.substr(0, dash);
  }
  return {};
}

std::string_view default_attention_backend(std::string_view gpu) {
  for (const std::string_view hopper : {"H100", "H200", "H20", "H800", "GH200"})
    if (gpu.starts_with(hopper)) return "fa3";
  for (const std::string_view blackwell : {"B200", "B300", "GB200", "GB300"})
    if (gpu.starts_with(blackwell)) return "flashinfer";
  return gpu == "CPU" ? "torch" : "fa2";
}

bool is_attention_measured(const oracle::StepPlan& plan, const IsMeasured& is_measured) {
  return std::any_of(plan.entries.begin(), plan.entries.end(),
                     [&](const oracle::PlanEntry& entry) {
                       return entry.binding == oracle::Binding::kAttention && is_measured(entry.signature);
                     }) ||
         std::any_of(plan.modules.begin(), plan.modules.end(),
                     [&](const oracle::PlanModule& module) { return is_measured(module.signature); });
}

oracle::StepPlan with_measured_backend(oracle::StepPlan plan, std::string_view gpu,
                                       const std::function<oracle::StepPlan(std::string_view backend)>& make,
                                       const IsMeasured& is_measured) {
  if (is_attention_measured(plan, is_measured)) return plan;
  std::vector<std::string_view> others = oracle::plan_backends();
  if (!gpu.empty()) others.insert(others.begin(), default_attention_backend(gpu));
  for (const std::string_view backend : others)
    if (oracle::StepPlan other = make(backend); is_attention_measured(other, is_measured)) return other;
  return plan;
}

}  // namespace dooly::sim
