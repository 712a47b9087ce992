#pragma once

#include <cstdint>

namespace dooly::sim {

/// Learns that a flow has arrived.
class FlowListener {
 public:
  virtual ~FlowListener() = default;
  virtual void flow_ended(std::uint64_t tag, double now_s) = 0;
};

/// Moves bytes between replicas; who moves what at the same time decides how long it takes.
class Network {
 public:
  virtual ~Network() = default;
  /// Sends `bytes` from one replica's GPUs to another's, leaving at `start_s` (not before the current event).
  /// `listener` must live until it has been told; `tag` is handed back to it.
  virtual void start_flow(std::uint32_t from_replica, std::uint32_t to_replica, std::uint64_t bytes, double start_s,
                          FlowListener& listener, std::uint64_t tag) = 0;
};

/// Sums over all flows of a run.
struct NetworkStats {
  std::uint64_t flows = 0;           ///< that have ended
  std::uint64_t bytes = 0;           ///< that they moved
  std::uint64_t in_flight = 0;       ///< started, path latency included, and not ended
  std::uint64_t max_concurrent = 0;  ///< largest in_flight
  double flow_s = 0;                 ///< sum of the flows' durations, path latency included
  /// Mean bandwidth of a flow: all bytes over the sum of durations; 0 without flows.
  double mean_bytes_per_s() const { return flow_s > 0 ? static_cast<double>(bytes) / flow_s : 0; }
};

}  // namespace dooly::sim
