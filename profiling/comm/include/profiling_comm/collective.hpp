#pragma once

#include "oracle/operator_key.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dooly::profiling {

enum class CollectiveKind : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kSendRecv };

inline constexpr std::array kCollectiveKinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                                CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                                CollectiveKind::kSendRecv};

/// As operator keys spell it: all_reduce, …
std::string_view name_of(CollectiveKind kind);
std::optional<CollectiveKind> collective_named(std::string_view name);

/// How launches follow each other.
enum class LaunchMode : std::uint8_t {
  kBackToBack,  ///< captured in one CUDA graph, one behind the other
  kIsolated,    ///< each by the host, on devices that are idle
};

/// One operation on so many GPUs. A message of `bytes` is what docs/operator-keys.md says: the tensor of all_reduce and
/// send_recv, what one GPU contributes to all_gather, the whole input of one GPU for the other two. In send_recv each
/// rank sends to the next one and receives from the one before, all at once.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::string dtype = "bfloat16";
  std::uint32_t ranks = 2;
};

/// The key that plans ask for is that of back to back; isolated launches have the attribute `eager`.
oracle::OperatorKey key_of(const Collective& collective, LaunchMode mode);

/// Message types that NCCL knows; 0: not one of them.
std::uint64_t element_bytes(std::string_view dtype);
/// Sizes are multiples of it: whole elements for each rank, in words of 16 bytes, as messages of models are.
std::uint64_t granule(const Collective& collective);

/// Memory of one rank.
struct BufferBytes {
  std::uint64_t send = 0, receive = 0;
};
BufferBytes buffers_of(const Collective& collective, std::uint64_t bytes);

}  // namespace dooly::profiling
