#include "pool_oracle.hpp"

#include "oracle/cuda_graphs.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/oracle_factory.hpp"
#include "oracle/step_plan.hpp"
#include "oracle/usable_sample.hpp"
#include "oracle_profiled/profiled_oracle.hpp"
#include "sim/profile_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>
#include <vector>

namespace dooly::sim {
namespace {

std::unique_ptr<oracle::LatencyOracle> make_plugin_oracle(const scenario::PluginOracleSpec& spec,
                                                          const PoolDeployment& pool, Formats formats) {
  const auto component = schedulers::find_oracle({&spec.plugin, spec.oracle, spec.options});
  return component.make(sdk::OracleTarget{.model = pool.model.name,
                                          .dtype = oracle::dtype_name(formats.dtype),
                                          .gpu = pool.gpu->name,
                                          .tensor_parallel = pool.tensor_parallel});
}

std::vector<std::uint32_t> capture_sizes(const scenario::Pool& spec, const replica::EngineConfig& engine) {
  if (!spec.engine.cudagraph_capture_sizes)
    return oracle::CudaGraphs::default_sizes(engine.max_num_seqs, engine.max_num_batched_tokens);
  std::vector<std::uint32_t> sizes;
  for (const std::uint64_t size : *spec.engine.cudagraph_capture_sizes)
    sizes.push_back(static_cast<std::uint32_t>(size));
  return sizes;
}

/// The plan whose attention the sources have; `backend` default: the engine's own choice on that GPU comes first.
oracle::StepPlan plan_of(const scenario::Pool& spec, const PoolDeployment& pool, Formats formats,
                         const std::vector<const oracle::SampleSource*>& sources) {
  oracle::PlanSettings settings;
  settings.dtype = oracle::dtype_name(formats.dtype);
  settings.kv_dtype = oracle::dtype_name(formats.kv_dtype);
  settings.tensor_parallel = pool.tensor_parallel;
  settings.expert_parallel = static_cast<std::uint32_t>(spec.parallel.ep);
  settings.block_size = static_cast<std::uint32_t>(spec.engine.block_size);
  const bool is_free = spec.engine.attention_backend == "default";
  settings.backend = is_free ? std::string(default_attention_backend(pool.gpu->name)) : spec.engine.attention_backend;
  const auto make = [&](std::string_view backend) {
    settings.backend = backend;
    return oracle::make_plan(pool.model, settings);
  };
  oracle::StepPlan plan = oracle::make_plan(pool.model, settings);
  if (!is_free) return plan;
  return with_measured_backend(std::move(plan), pool.gpu->name, make, [&](const oracle::Signature& signature) {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const oracle::SampleSource* source) { return oracle::has_answer(*source, signature); });
  });
}

std::uint32_t routing_of(const scenario::ProfiledOracleSpec& spec) {
  return spec.routing == "power_law_1.01" ? 1 : spec.routing == "power_law_1.2" ? 2 : 0;
}

/// What one rank of a replica sends to the next through, and what collectives make of it.
struct RankLink {
  double bytes_per_s = 0;  ///< 0: the GPU's own link
  oracle::Efficiency efficiency;
};

/// Over nodes a GPU has its share of the NICs. A latency that the scenario gives is that of a message within a node;
/// collectives then reach the bandwidth beside it, and both replace the estimates.
RankLink link_between_ranks(const scenario::Cluster& cluster, const scenario::NodeGroup& group,
                            const PoolDeployment& pool) {
  RankLink link{group.nvlink_bytes_per_s.value_or(0), {}};
  const bool one_node = std::all_of(pool.places.begin(), pool.places.end(),
                                    [](const scenario::ReplicaPlace& place) { return place.nodes == 1; });
  if (one_node) {
    if (group.nvlink_latency_s) {
      link.efficiency.link = 1;
      link.efficiency.pcie_factor = 1;
      link.efficiency.one_shot_seconds = link.efficiency.ring_hop_seconds = *group.nvlink_latency_s;
    }
    return link;
  }
  const double nic = std::min(group.nics.bytes_per_s, cluster.fabric.link_bytes_per_s.value_or(group.nics.bytes_per_s));
  const double own = link.bytes_per_s > 0 ? link.bytes_per_s : pool.gpu->link_bandwidth;
  link.bytes_per_s = std::min(own, nic * static_cast<double>(group.nics.count) / static_cast<double>(group.gpus));
  return link;
}

RankSpread spread_of(const PoolDeployment& pool) {
  RankSpread spread;
  for (const scenario::ReplicaPlace& place : pool.places)
    if (place.nodes >= spread.nodes) spread = {place.nodes, place.gpus};
  return spread;
}

/// Whether the store has an environment of that GPU which the scenario does not leave out. Throws OracleError if it
/// leaves out all of them.
bool holds(const scenario::ProfiledOracleSpec& profiled, const std::string& gpu) {
  const std::vector<std::string> gpus = profiled_gpus(profiled.files, profiled.environment);
  if (gpus.empty() && !profiled.environment.empty())
    throw oracle::OracleError(
        fmt::format("oracle.environment: no environment of store '{}' has '{}' in its id or description",
                    profiled.store, profiled.environment));
  return std::any_of(gpus.begin(), gpus.end(), [&](const std::string& name) {
    return name == gpu || (gpu == "CPU" && name.starts_with("CPU "));
  });
}

/// Who of the scenario's list comes first answers an operator; the roofline only if it is in the list.
std::unique_ptr<oracle::LatencyOracle> make_profiled_oracle(const scenario::Scenario& scenario,
                                                            const scenario::Pool& spec, const PoolDeployment& pool,
                                                            Formats formats, const RankLink& link) {
  oracle::CompileSettings settings;
  settings.max_num_batched_tokens = pool.engine.max_num_batched_tokens;
  settings.max_num_seqs = pool.engine.max_num_seqs;
  settings.capture_sizes = capture_sizes(spec, pool.engine);
  settings.link_bandwidth = link.bytes_per_s;
  settings.efficiency = link.efficiency;
  settings.use_roofline = false;
  std::vector<std::unique_ptr<oracle::SampleSource>> opened;
  std::vector<const oracle::SampleSource*> sources;
  for (const scenario::OracleSpec& each : scenario.oracles) {
    if (std::holds_alternative<scenario::RooflineOracleSpec>(each)) settings.use_roofline = true;
    const auto* profiled = std::get_if<scenario::ProfiledOracleSpec>(&each);
    if (profiled == nullptr) continue;
    if (sources.empty()) settings.routing = routing_of(*profiled);
    opened.push_back(open_profiles(profiled->files, pool.gpu->name, profiled->environment, spread_of(pool)));
    sources.push_back(opened.back().get());
  }
  return std::make_unique<oracle::ProfiledOracle>(plan_of(spec, pool, formats, sources), sources, *pool.gpu, settings,
                                                  pool.platform);
}

}  // namespace

std::unique_ptr<oracle::LatencyOracle> make_pool_oracle(const scenario::Scenario& scenario, const scenario::Pool& spec,
                                                        const scenario::NodeGroup& group, const PoolDeployment& pool,
                                                        Formats formats) {
  const RankLink link = link_between_ranks(scenario.cluster, group, pool);
  const scenario::OracleSpec& first = scenario.oracles.front();  // every kind of this version answers every operator
  if (const auto* plugin = std::get_if<scenario::PluginOracleSpec>(&first))
    return make_plugin_oracle(*plugin, pool, formats);
  if (std::holds_alternative<scenario::ProfiledOracleSpec>(first))
    return make_profiled_oracle(scenario, spec, pool, formats, link);
  oracle::OracleParameters parameters;
  parameters.model = &pool.model;
  parameters.gpu = pool.gpu;
  parameters.platform = pool.platform;
  parameters.roofline.execution = {pool.tensor_parallel, formats.dtype, formats.kv_dtype};
  parameters.roofline.max_num_batched_tokens = pool.engine.max_num_batched_tokens;
  parameters.roofline.max_num_seqs = pool.engine.max_num_seqs;
  parameters.roofline.link_bandwidth = link.bytes_per_s;
  parameters.roofline.efficiency = link.efficiency;
  parameters.roofline.capture_sizes = capture_sizes(spec, pool.engine);
  if (const auto* fixed = std::get_if<scenario::FixedOracleSpec>(&first)) {
    parameters.fixed = {
        .base = fixed->base_s, .per_token = fixed->per_token_s, .per_1000_context = fixed->per_1000_context_s};
    return oracle::make_oracle("fixed", parameters);
  }
  return oracle::make_oracle("roofline", parameters);
}

std::string device_times(const scenario::Scenario& scenario, const PoolDeployment& pool) {
  const std::string gpu(pool.gpu->name);
  std::string text;
  for (const scenario::OracleSpec& each : scenario.oracles) {
    if (!text.empty()) text += ", else ";
    if (const auto* profiled = std::get_if<scenario::ProfiledOracleSpec>(&each)) {
      const std::filesystem::path store = profiled->store;
      text += fmt::format("store '{}'", (store.has_filename() ? store : store.parent_path()).filename().string());
      if (!holds(*profiled, gpu)) text += fmt::format(" (which holds nothing of {})", gpu);
    } else if (const auto* plugin = std::get_if<scenario::PluginOracleSpec>(&each)) {
      text += fmt::format("plug-in '{}'", plugin->oracle);
    } else {
      text += std::holds_alternative<scenario::FixedOracleSpec>(each) ? "fixed costs" : "the roofline";
    }
    if (!std::holds_alternative<scenario::ProfiledOracleSpec>(each)) break;  // these answer all that they are asked
  }
  const auto* profiled = dynamic_cast<const oracle::ProfiledOracle*>(pool.oracle.get());
  if (profiled != nullptr && profiled->plan().backend() != default_attention_backend(gpu))
    text += fmt::format("; attention by {}, which was measured", profiled->plan().backend());
  return text;
}

}  // namespace dooly::sim
