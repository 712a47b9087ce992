#pragma once

#include "replica_core/content.hpp"

#include <cstdint>
#include <span>

namespace dooly::replica {

/// The simulation's own number of a request; replicas hand it back unchanged.
using RequestTag = std::uint32_t;

/// KV that a request gets from, or leaves for, other replicas.
struct RemoteKv {
  enum class Load : std::uint8_t {
    kNone,
    kPromptOnce,   ///< the whole prompt beyond the local hit, asynchronously, once (decode side of a split)
    kAlways,       ///< `tokens` asynchronously, at every admission (offloading connector)
    kImmediate     ///< `tokens`, there at once, at every admission
  };
  Load load = Load::kNone;
  std::uint32_t tokens = 0;           ///< kPromptOnce: 0 = the whole prompt
  std::uint32_t unknown_lookups = 0;  ///< that many look-ups answer "not yet known"
  bool hold_blocks = false;  ///< after it finished its blocks stay until Replica::release_held (prefill side)
};

/// A request as it is handed to one replica.
struct ReplicaRequest {
  RequestTag tag = 0;
  std::uint32_t prompt = 0;  ///< >= 1
  std::uint32_t output = 0;  ///< stops after so many output tokens; >= 1
  std::int32_t priority = 0;  ///< lower is more urgent
  std::uint16_t request_class = 0;
  std::uint64_t sequence = 0;  ///< decides among equal priority and arrival
  double arrival_s = 0;  ///< rank among equals of the priority queue, shown to policies
  double deadline_s = 0;  ///< 0: none
  std::uint64_t unique_key = 0;  ///< identity of the content beyond `content`
  std::span<const ContentSegment> content;  ///< must stay valid until the request has left the replica
  RemoteKv remote;
};

}  // namespace dooly::replica
