#include "profiling_comm/collective.hpp"

#include "oracle/operator_keys.hpp"

namespace dooly::profiling {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllToAll: return "all_to_all";
    case CollectiveKind::kSendRecv: return "send_recv";
  }
  return {};
}

std::optional<CollectiveKind> collective_named(std::string_view name) {
  for (const CollectiveKind kind : kCollectiveKinds)
    if (name_of(kind) == name) return kind;
  return std::nullopt;
}

oracle::OperatorKey key_of(const Collective& collective, LaunchMode mode) {
  oracle::OperatorKey key =
      oracle::collective_key(name_of(collective.kind), collective.dtype, collective.ranks, "nccl");
  if (mode == LaunchMode::kIsolated) key.attributes["eager"] = true;
  return key;
}

std::uint64_t element_bytes(std::string_view dtype) {
  if (dtype == "bfloat16" || dtype == "float16") return 2;
  if (dtype == "float32") return 4;
  return dtype == "fp8" || dtype == "int8" ? 1 : 0;
}

std::uint64_t granule(const Collective& collective) {
  constexpr std::uint64_t kWord = 16;
  const bool splits = collective.kind == CollectiveKind::kReduceScatter || collective.kind == CollectiveKind::kAllToAll;
  return splits ? kWord * collective.ranks : kWord;
}

BufferBytes buffers_of(const Collective& collective, std::uint64_t bytes) {
  switch (collective.kind) {
    case CollectiveKind::kAllGather: return {bytes, bytes * collective.ranks};
    case CollectiveKind::kReduceScatter: return {bytes, bytes / collective.ranks};
    default: return {bytes, bytes};
  }
}

}  // namespace dooly::profiling
