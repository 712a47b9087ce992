#include "sim/deployment.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/weights.hpp"
#include "pool_oracle.hpp"

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
  const auto shipped = [&](const std::string& name) {
    return oracle::find_platform(name == "default" ? oracle::default_platform(gpu.name) : name);
  };
  if (spec.terms.empty() && !spec.host.empty()) return shipped(spec.host);
  const bool is_changed = !spec.base.empty() && spec.base != "none";
  oracle::Platform platform = is_changed ? shipped(spec.base) : oracle::Platform();
  platform.name = is_changed ? platform.name + ", changed" : "inline";
  for (const auto& [key, seconds] : spec.terms) oracle::set_platform_term(platform, key, seconds);
  return platform;
}

/// The sum behind the KV blocks; with given blocks only that the weights fit.
std::optional<oracle::MemoryPlan> plan_pool_memory(const scenario::Pool& spec, const PoolDeployment& pool,
                                                   const oracle::MemorySettings& settings) {
  if (!spec.engine.num_gpu_blocks_override) return oracle::plan_memory(pool.model, *pool.gpu, settings);
  if (static_cast<double>(pool.weight_bytes_per_gpu) > settings.utilisation * pool.gpu->memory_bytes)
    return oracle::plan_memory(pool.model, *pool.gpu, settings);  // throws and says what is missing
  return std::nullopt;
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
  pool.oracle = make_pool_oracle(scenario, spec, group, pool, formats);
  pool.device_times = device_times(scenario, pool);
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

}  // namespace dooly::sim
