#include "oracle_profiled/entry_work.hpp"

#include "key_dtype.hpp"
#include "oracle_profiled/linear_surface.hpp"

#include <algorithm>

namespace dooly::oracle {
namespace {

std::size_t compute_dtype(const OperatorKey& key) {
  const bool has_weights = key.kind == "linear" || key.kind == "moe_experts" || key.kind == "bmm";
  return has_weights && key.dtypes.size() > 1 ? 1 : 0;
}

std::uint32_t dim(const OperatorKey& key, std::size_t index) {
  return index < key.dims.size() ? static_cast<std::uint32_t>(key.dims[index]) : 0;
}

std::uint32_t all_experts(const OperatorKey& key) {
  const auto found = key.attributes.find("experts");
  if (found != key.attributes.end())
    if (const auto* value = std::get_if<std::int64_t>(&found->second)) return static_cast<std::uint32_t>(*value);
  return dim(key, 2);
}

RowWork collective_work(const OperatorKey& key, const Gpu& gpu, const Efficiency& efficiency, double link_bandwidth,
                        std::uint32_t default_ranks) {
  const double link = link_bandwidth * efficiency.link;
  const double latency = gpu.has_nvlink ? 1 : efficiency.pcie_factor;
  const double ranks = std::max(1u, key.dims.empty() ? default_ranks : dim(key, 0));
  const double rounds = key.kind == "all_reduce"   ? 2 * (ranks - 1) / ranks
                        : key.kind == "all_gather" ? ranks - 1
                        : key.kind == "send_recv"  ? 1
                                                   : (ranks - 1) / ranks;
  RowWork work;
  work.fixed = latency * efficiency.one_shot_seconds;
  work.memory_per_row = link > 0 ? rounds / link : 0;
  return work;
}

}  // namespace

RowWork entry_work(const PlanEntry& entry, const Gpu& gpu, const Efficiency& efficiency, double link_bandwidth,
                   std::uint32_t ranks) {
  const OperatorKey& key = entry.key;
  if (entry.binding == Binding::kCollective) return collective_work(key, gpu, efficiency, link_bandwidth, ranks);
  if (key.kind == "linear" && entry.flops_per_token == 0)
    return linear_work(key, dim(key, 0), dim(key, 1), gpu, efficiency);
  const DType compute = key_dtype(key.dtypes.empty() ? "bfloat16" : key.dtypes[compute_dtype(key)]);
  RowWork work = row_work(gpu, efficiency, compute, entry.flops_per_token, entry.weight_bytes, entry.bytes_per_token);
  if (key.kind == "linear") work.tile = kLinearTile;
  if (entry.binding == Binding::kExperts) {
    work.experts = all_experts(key);
    work.experts_per_token = std::min(dim(key, 3), work.experts);
  }
  return work;
}

RowWork balanced_work(RowWork work, const OperatorKey& key) {
  work.in_expert_tiles = key.family == kExpertTilesFamily && work.expert_tiles().are_possible();
  return work;
}

}  // namespace dooly::oracle
