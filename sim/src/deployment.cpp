#include "sim/deployment.hpp"

#include "oracle/cuda_graphs.hpp"
#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/oracle_factory.hpp"
#include "oracle/weights.hpp"
#include "oracle_profiled/profiled_oracle.hpp"
#include "schedulers/builtin.hpp"
#include "sim/profile_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace dooly::sim {
namespace {

const scenario::NodeGroup& node_group(const scenario::Scenario& scenario, const scenario::Pool& pool) {
  for (const scenario::NodeGroup& group : scenario.cluster.nodes)
    if (group.name == pool.nodes.front().group) return group;
  throw std::logic_error("a loaded scenario names an unknown node group");
}

replica::KvGroup kv_group(const oracle::KvCacheGroup& group) {
  using Kind = replica::KvGroup::Kind;
  replica::KvGroup out;
  out.block_size = group.block_tokens;
  out.window = group.window;
  switch (group.kind) {
    case oracle::AttentionKind::kFull: out.kind = Kind::kFull; break;
    case oracle::AttentionKind::kSlidingWindow: out.kind = Kind::kSlidingWindow; break;
    case oracle::AttentionKind::kChunkedLocal: out.kind = Kind::kChunkedLocal; break;
  }
  return out;
}

struct Formats {
  oracle::DType dtype;
  oracle::DType kv_dtype;
};

oracle::MemorySettings memory_settings(const scenario::Pool& pool, std::uint32_t max_model_len, Formats formats) {
  oracle::MemorySettings settings;
  settings.utilisation = pool.engine.gpu_memory_utilization;
  settings.tensor_parallel = static_cast<std::uint32_t>(pool.parallel.tp);
  settings.max_num_batched_tokens = static_cast<std::uint32_t>(pool.engine.max_num_batched_tokens);
  settings.max_num_seqs = static_cast<std::uint32_t>(pool.engine.max_num_seqs);
  settings.max_model_len = max_model_len;
  settings.block_size = static_cast<std::uint32_t>(pool.engine.block_size);
  settings.dtype = formats.dtype;
  settings.kv_dtype = formats.kv_dtype;
  return settings;
}

std::uint32_t model_len(const scenario::Pool& pool, const oracle::ModelConfig& model) {
  if (!pool.engine.max_model_len) return model.max_position;
  if (*pool.engine.max_model_len > model.max_position)
    throw oracle::OracleError(fmt::format("engine.max_model_len: must be at most {} ({}'s longest context), got {}",
                                          model.max_position, model.name, *pool.engine.max_model_len));
  return static_cast<std::uint32_t>(*pool.engine.max_model_len);
}

replica::EngineConfig engine_config(const scenario::Pool& pool, const oracle::KvCacheLayout& layout,
                                    std::uint32_t blocks, std::uint32_t max_model_len) {
  const scenario::EngineConfig& from = pool.engine;
  replica::EngineConfig config;
  config.max_num_batched_tokens = static_cast<std::uint32_t>(from.max_num_batched_tokens);
  config.max_num_seqs = static_cast<std::uint32_t>(from.max_num_seqs);
  config.max_model_len = max_model_len;
  config.enable_chunked_prefill = from.enable_chunked_prefill;
  config.long_prefill_token_threshold = static_cast<std::uint32_t>(from.long_prefill_token_threshold);
  config.by_priority = from.scheduling_policy == scenario::EngineConfig::SchedulingPolicy::kPriority;
  config.reserve_full_prompt = from.scheduler_reserve_full_isl;
  config.async_scheduling = from.async_scheduling;
  config.num_blocks = blocks;
  config.watermark_blocks = static_cast<std::uint32_t>(from.watermark * blocks);
  config.enable_prefix_caching = from.enable_prefix_caching;
  config.groups.clear();
  config.scheduler_block_size = 1;
  for (const oracle::KvCacheGroup& group : layout.groups) {
    config.groups.push_back(kv_group(group));
    config.scheduler_block_size = std::lcm(config.scheduler_block_size, group.block_tokens);
  }
  for (replica::KvGroup& group : config.groups) group.admission_cap = replica::admission_cap(group, config);
  config.grant_output_lengths = pool.scheduler.grant_output_lengths;
  config.has_connector = pool.role != scenario::Pool::Role::kMixed;
  config.defer_block_free = pool.role == scenario::Pool::Role::kDecode && config.async_scheduling;
  return config;
}

oracle::Platform platform_of(const scenario::PlatformSpec& spec, const oracle::Gpu& gpu) {
  if (!spec.terms.empty() || spec.host.empty()) {
    oracle::Platform platform;
    platform.name = "inline";
    for (const auto& [key, seconds] : spec.terms) oracle::set_platform_term(platform, key, seconds);
    return platform;
  }
  return oracle::find_platform(spec.host == "default" ? oracle::default_platform(gpu.name) : spec.host);
}

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
  const oracle::StepPlan first = oracle::make_plan(pool.model, settings);
  const auto is_answered = [&](const oracle::StepPlan& plan) {
    return std::any_of(plan.entries.begin(), plan.entries.end(), [&](const oracle::PlanEntry& entry) {
      if (entry.binding != oracle::Binding::kAttention) return false;
      return std::any_of(sources.begin(), sources.end(),
                         [&](const oracle::SampleSource* source) { return !source->samples(entry.signature).empty(); });
    });
  };
  if (!is_free || is_answered(first)) return first;
  for (const std::string_view backend : oracle::plan_backends()) {
    settings.backend = backend;
    try {
      oracle::StepPlan other = oracle::make_plan(pool.model, settings);
      if (is_answered(other)) return other;
    } catch (const oracle::OracleError&) {  // a back end that cannot run this model
    }
  }
  return first;
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
    opened.push_back(open_profiles(profiled->files, pool.gpu->name, profiled->environment));
    sources.push_back(opened.back().get());
  }
  return std::make_unique<oracle::ProfiledOracle>(plan_of(spec, pool, formats, sources), sources, *pool.gpu, settings,
                                                  pool.platform);
}

std::unique_ptr<oracle::LatencyOracle> make_pool_oracle(const scenario::Scenario& scenario, const scenario::Pool& spec,
                                                        const PoolDeployment& pool, Formats formats,
                                                        const RankLink& link) {
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

/// Sources of device times in words, the first to answer first.
std::string device_times(const scenario::Scenario& scenario) {
  std::string text;
  for (const scenario::OracleSpec& each : scenario.oracles) {
    if (!text.empty()) text += ", else ";
    if (const auto* profiled = std::get_if<scenario::ProfiledOracleSpec>(&each)) {
      const std::filesystem::path store = profiled->store;
      text += fmt::format("store '{}'", (store.has_filename() ? store : store.parent_path()).filename().string());
    } else if (const auto* plugin = std::get_if<scenario::PluginOracleSpec>(&each)) {
      text += fmt::format("plug-in '{}'", plugin->oracle);
    } else {
      text += std::holds_alternative<scenario::FixedOracleSpec>(each) ? "fixed costs" : "the roofline";
    }
    if (!std::holds_alternative<scenario::ProfiledOracleSpec>(each)) break;  // these answer all that they are asked
  }
  return text;
}

/// The sum behind the KV blocks; with given blocks only that the weights fit.
std::optional<oracle::MemoryPlan> plan_pool_memory(const scenario::Pool& spec, const PoolDeployment& pool,
                                                   const oracle::MemorySettings& settings) {
  if (!spec.engine.num_gpu_blocks_override) return oracle::plan_memory(pool.model, *pool.gpu, settings);
  if (static_cast<double>(pool.weight_bytes_per_gpu) > settings.utilisation * pool.gpu->memory_bytes)
    return oracle::plan_memory(pool.model, *pool.gpu, settings);  // throws and says what is missing
  return std::nullopt;
}

std::string answered_by(const oracle::OperatorAnswer& answer) {
  if (answer.source < 0) return "roofline";
  const char* by = answer.best == oracle::Origin::kMeasured ? "its own samples" : "neighbours";
  return fmt::format("{}, {} points, {:.1f} % off where points are left out{}{}", by, answer.points,
                     100 * answer.fold_error, answer.note.empty() ? "" : "; ", answer.note);
}

schedulers::Choice choice(const std::optional<std::filesystem::path>& plugin, const std::string& name,
                          const scenario::Options& options) {
  return {plugin ? &*plugin : nullptr, name, options};
}

/// Experts are spread over the tensor-parallel GPUs: each has whole experts, as many bytes as if each were split.
void check_expert_parallel(const scenario::Pool& spec, const oracle::ModelConfig& model) {
  const std::uint64_t ep = spec.parallel.ep;
  if (ep == 1) return;
  if (!model.moe) throw oracle::OracleError(fmt::format("parallel.ep: {} has no experts, got {}", model.name, ep));
  if (ep != spec.parallel.tp)
    throw oracle::OracleError(
        fmt::format("parallel.ep: other than tp needs data parallelism, which is not built yet, got {}; allowed: {}",
                    ep, spec.parallel.tp == 1 ? "1" : fmt::format("1, {}", spec.parallel.tp)));
}

PoolDeployment build_pool(const scenario::Scenario& scenario, const scenario::Pool& spec,
                          std::vector<scenario::ReplicaPlace> places) {
  const scenario::NodeGroup& group = node_group(scenario, spec);
  PoolDeployment pool{
      .name = spec.name,
      .role = spec.role,
      .model = oracle::resolve_model(spec.model.config),
      .gpu = &oracle::find_gpu(group.gpu),
      .tensor_parallel = static_cast<std::uint32_t>(spec.parallel.tp),
      .engine = {},
      .memory = std::nullopt,
      .platform = {},
      .oracle = nullptr,
      .policy = schedulers::find_policy(choice(spec.scheduler.plugin, spec.scheduler.policy, spec.scheduler.options)),
      .router = schedulers::find_router(choice(spec.router.plugin, spec.router.policy, spec.router.options)),
      .replicas = static_cast<std::uint32_t>(spec.replicas),
      .places = std::move(places)};
  oracle::check_tensor_parallel(pool.model, pool.tensor_parallel);
  check_expert_parallel(spec, pool.model);
  const oracle::DType dtype = oracle::resolve_dtype(spec.model.dtype, pool.model.dtype, *pool.gpu);
  const Formats formats{dtype, oracle::resolve_kv_dtype(spec.engine.kv_cache_dtype, dtype)};
  const std::uint32_t max_model_len = model_len(spec, pool.model);
  pool.weight_bytes_per_gpu = oracle::weight_bytes_per_gpu(pool.model, pool.tensor_parallel, dtype);
  const oracle::MemorySettings settings = memory_settings(spec, max_model_len, formats);
  pool.memory = plan_pool_memory(spec, pool, settings);
  const oracle::KvCacheLayout layout =
      pool.memory ? pool.memory->layout
                  : oracle::kv_cache_layout(pool.model, pool.tensor_parallel, formats.kv_dtype, settings.block_size);
  const std::uint32_t blocks =
      pool.memory ? pool.memory->blocks : static_cast<std::uint32_t>(*spec.engine.num_gpu_blocks_override);
  if (blocks < 2)
    throw oracle::OracleError("engine.num_gpu_blocks_override: must be at least 2 (one is the placeholder)");
  pool.engine = engine_config(spec, layout, blocks, max_model_len);
  pool.kv_bytes_per_token = static_cast<std::uint64_t>(
      oracle::kv_cache_layout(pool.model, 1, formats.kv_dtype, settings.block_size).bytes_per_token);
  if (spec.router.signal_delay_s > 0 && pool.router.make()->needs() == sdk::RouterPolicy::Needs::kNothing)
    throw oracle::OracleError(
        fmt::format("router.signal_delay: has no meaning for router '{}', which looks at no load", pool.router.name()));
  pool.platform = platform_of(scenario.platform, *pool.gpu);
  const double own_link = pool.gpu->has_nvlink ? pool.gpu->link_bandwidth : 0;
  pool.nvlink_bytes_per_s = group.nvlink_bytes_per_s.value_or(own_link);
  pool.oracle = make_pool_oracle(scenario, spec, pool, formats, link_between_ranks(scenario.cluster, group, pool));
  pool.device_times = device_times(scenario);
  return pool;
}

}  // namespace

Deployment Deployment::build(const scenario::Scenario& scenario) {
  Deployment deployment;
  const scenario::Placement placement = scenario::place_replicas(scenario.cluster, scenario.pools);
  std::string problems;
  for (std::size_t i = 0; i < scenario.pools.size(); ++i) {
    try {
      deployment.pools.push_back(build_pool(scenario, scenario.pools[i], placement.pools.at(i)));
    } catch (const oracle::OracleError& problem) {
      problems += fmt::format("{}pools.{}: {}", problems.empty() ? "" : "\n", scenario.pools[i].name, problem.what());
    } catch (const std::invalid_argument& problem) {
      problems += fmt::format("{}pools.{}: {}", problems.empty() ? "" : "\n", scenario.pools[i].name, problem.what());
    }
  }
  if (!problems.empty()) throw DeploymentError(problems);
  for (const scenario::NodeGroup& group : scenario.cluster.nodes) {
    const oracle::Gpu& gpu = oracle::find_gpu(group.gpu);
    deployment.nvlink_by_group.push_back(group.nvlink_bytes_per_s.value_or(gpu.has_nvlink ? gpu.link_bandwidth : 0));
  }
  return deployment;
}

std::uint64_t Deployment::gpus() const {
  std::uint64_t sum = 0;
  for (const PoolDeployment& pool : pools) sum += std::uint64_t{pool.replicas} * pool.tensor_parallel;
  return sum;
}

std::uint32_t Deployment::max_model_len(const scenario::Scenario& scenario, const std::string& class_name) const {
  const auto entry = scenario.entry_pool(class_name);
  if (!entry) return 0;
  std::uint32_t longest = pools[*entry].engine.max_model_len;
  if (const auto decode = scenario.decode_pool(class_name))
    longest = std::min(longest, pools[*decode].engine.max_model_len);
  return longest;
}

std::vector<std::string> Deployment::notes(std::size_t index) const {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const PoolDeployment& pool = pools[index];
  std::vector<std::string> lines;
  lines.push_back(fmt::format("model {}: {:.2f} G parameters, {:.2f} GiB of weights on each GPU", pool.model.name,
                              static_cast<double>(oracle::parameter_count(pool.model)) / 1e9,
                              static_cast<double>(pool.weight_bytes_per_gpu) / kGiB));
  if (pool.memory) {
    for (const oracle::MemoryPlan::Line& line : pool.memory->lines)
      lines.push_back(fmt::format("  {:>+10.2f} GiB  {}{}{}", line.bytes / kGiB, line.what,
                                  line.note.empty() ? "" : ": ", line.note));
    lines.push_back(
        fmt::format("  = {:.2f} GiB of KV cache in blocks of {:.3f} MiB: {} blocks", pool.memory->kv_bytes / kGiB,
                    static_cast<double>(pool.memory->layout.block_bytes) / (1024.0 * 1024), pool.memory->blocks));
  } else {
    lines.push_back(fmt::format("  {} KV blocks, as given", pool.engine.num_blocks));
  }
  lines.push_back(fmt::format("{} usable KV blocks (one is the placeholder), max_model_len {}",
                              pool.engine.num_blocks - 1, pool.engine.max_model_len));
  const auto step = [&](std::uint32_t decodes, std::uint32_t context, std::uint32_t prompt) {
    const oracle::PrefillChunk chunk{prompt, 0};
    oracle::BatchShape shape;
    shape.decodes = decodes;
    shape.decode_context = std::uint64_t{decodes} * context;
    shape.decode_context_squares = shape.decode_context * context;
    shape.decode_longest = decodes > 0 ? context : 0;
    shape.logits_rows = decodes + (prompt > 0 ? 1 : 0);
    shape.prefill_tokens = prompt;
    if (prompt > 0) shape.prefills = {&chunk, 1};
    const oracle::StepCost cost = pool.oracle->cost(shape, {});
    return fmt::format("{:.2f} ms on the device, {:.2f} ms to schedule and launch", cost.device.total() * 1e3,
                       (cost.host.schedule + cost.host.launch + cost.host.sample) * 1e3);
  };
  lines.push_back(
      fmt::format("oracle {}: a step of 1 decode at 1,024 tokens takes {}", pool.oracle->name(), step(1, 1024, 0)));
  lines.push_back(fmt::format("  64 decodes at 1,024: {}", step(64, 1024, 0)));
  lines.push_back(fmt::format("  a prompt of 2,048: {}", step(0, 0, 2048)));
  if (const auto* profiled = dynamic_cast<const oracle::ProfiledOracle*>(pool.oracle.get())) {
    lines.push_back("who answers:");
    for (const oracle::OperatorAnswer& each : profiled->plan().operators())
      lines.push_back(fmt::format("  {} x{}: {}", each.name, each.count, answered_by(each)));
  }
  lines.push_back(fmt::format("platform {} (host times)", pool.platform.name));
  return lines;
}

scenario::Names known_names() {
  scenario::Names names;
  for (const auto& model : oracle::shipped_models()) names.models.emplace_back(model.name);
  for (const auto& gpu : oracle::shipped_gpus()) names.gpus.emplace_back(gpu.name);
  for (const auto& policy : schedulers::builtin_policies()) names.policies.emplace_back(policy.name);
  for (const auto& router : schedulers::builtin_routers()) names.routers.emplace_back(router.name);
  for (const auto& platform : oracle::shipped_platforms()) names.platforms.emplace_back(platform.name);
  for (const auto& term : oracle::platform_terms()) names.platform_terms.emplace_back(term.key);
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!ignored) {
    const std::filesystem::path stores = program.parent_path().parent_path() / "share/dooly/stores";
    names.store_directories.push_back(stores);
    names.shipped_store = [stores](const std::string& gpu) { return shipped_store(stores, gpu); };
  }
  names.check_options = [](const scenario::Component& component) {
    const schedulers::Choice choice{component.plugin, component.name, component.options};
    std::vector<schedulers::OptionProblem> found;
    switch (component.kind) {
      case scenario::Component::Kind::kPolicy: found = schedulers::check_policy(choice); break;
      case scenario::Component::Kind::kRouter: found = schedulers::check_router(choice); break;
      case scenario::Component::Kind::kOracle: found = schedulers::check_oracle(choice); break;
    }
    std::vector<scenario::OptionProblem> problems;
    for (schedulers::OptionProblem& problem : found) problems.push_back({problem.option, problem.what});
    return problems;
  };
  return names;
}

}  // namespace dooly::sim
