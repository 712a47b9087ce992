#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "replica_core/observer.hpp"

namespace dooly::results {

/// Load of one replica, or of all replicas of a pool together.
struct PoolFigures {
  std::uint64_t iterations = 0;
  double mean_tokens = 0;    ///< per iteration
  double mean_requests = 0;  ///< per iteration
  /// Shares of the replicas' simulated time by kind of iteration; together with idle they make 1.
  double prefill_share = 0, decode_share = 0, mixed_share = 0, idle_share = 1;
  double kv_peak_share = 0;  ///< of the blocks of a replica, the fullest one's
  double kv_mean_share = 0;  ///< over time and replicas
  std::uint64_t preemptions = 0;
  double prefix_hit_share = 0;  ///< cached prompt tokens of all prompt tokens, at first scheduling
  std::uint64_t output_tokens = 0;
};

/// `kv_blocks` is what each replica has, `simulated_s` how long each ran.
PoolFigures pool_figures(std::span<const replica::ReplicaStats> replicas, std::uint64_t kv_blocks, double simulated_s);

/// Where the predicted device time came from, as shares of it, and the oracle's own error figure weighted by it.
struct OracleFigures {
  double measured = 0, interpolated = 0, extrapolated = 0, roofline = 0;
  std::optional<double> stated_error;  ///< unset: no oracle states one
};
OracleFigures oracle_figures(std::span<const replica::ReplicaStats> replicas);
/// Adds up the figures of several pools' replicas.
void accumulate(replica::ReplicaStats& into, const replica::ReplicaStats& stats);

}  // namespace dooly::results
