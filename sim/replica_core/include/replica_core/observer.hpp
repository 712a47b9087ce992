#pragma once

#include "replica_core/batch.hpp"
#include "replica_core/gap_histogram.hpp"
#include "replica_core/replica_request.hpp"

#include <cstdint>
#include <span>

namespace dooly::replica {

/// A request left the replica (or holds its blocks for a transfer, if it was submitted with hold_blocks).
struct Completion {
  RequestTag tag = 0;
  double engine_s = 0;           ///< the engine has updated the request
  double client_s = 0;           ///< the client holds the last token
  std::uint32_t output = 0;      ///< tokens produced
  std::uint32_t preemptions = 0;
};

/// What a replica tells the simulation about its requests, in time order. Times are seconds.
class ReplicaObserver {
 public:
  virtual ~ReplicaObserver() = default;
  /// The engine loop has taken the request up: it waits to be scheduled.
  virtual void queued(RequestTag request, double now_s) {
    (void)request;
    (void)now_s;
  }
  /// First iteration that gives the request tokens; `cached` prompt tokens were found in the cache.
  virtual void scheduled(RequestTag request, double now_s, std::uint32_t cached) = 0;
  virtual void first_token(RequestTag request, double engine_s, double client_s) = 0;
  virtual void finished(const Completion& completion) = 0;
  /// Blocks for `tokens` remote tokens (beyond `local` cached ones) are reserved: the transfer may start.
  virtual void load_started(RequestTag request, std::uint32_t local, std::uint32_t tokens, double now_s) = 0;
  /// `count` gaps between consecutive tokens of requests of one class, as the client sees them.
  virtual void token_gaps(std::uint16_t request_class, double gap_s, std::uint64_t count) = 0;
  /// The same for several results in a row: `count` gaps of each length.
  virtual void token_gap_run(std::uint16_t request_class, std::span<const double> gaps_s, std::uint64_t count) {
    for (const double gap_s : gaps_s) token_gaps(request_class, gap_s, count);
  }
};

/// Sees every iteration and every scheduling call of a replica; costs the replica its short cuts.
class IterationListener {
 public:
  virtual ~IterationListener() = default;
  /// The batch's result has just been processed, at end_s.
  virtual void iteration(const Batch& batch, double end_s) = 0;
  /// A scheduling call has been made at now_s.
  virtual void decided(const Batch& batch, double now_s) = 0;
};

/// Sums over the life of one replica, kept by the replica itself.
struct ReplicaStats {
  std::uint64_t iterations = 0;        ///< with at least one token
  std::uint64_t decode_iterations = 0, prefill_iterations = 0, mixed_iterations = 0;
  std::uint64_t scheduled_tokens = 0;
  std::uint64_t scheduled_requests = 0;
  double decode_s = 0, prefill_s = 0, mixed_s = 0;  ///< time between results, by kind of iteration
  std::uint64_t preemptions = 0;
  std::uint64_t prompt_tokens = 0;     ///< of admitted requests, at first scheduling
  std::uint64_t cached_tokens = 0;     ///< of them found in the cache
  std::uint64_t output_tokens = 0;
  std::uint32_t peak_blocks = 0;       ///< KV blocks in use
  double block_seconds = 0;            ///< integral of KV blocks in use over time
  double measured_s = 0, interpolated_s = 0, extrapolated_s = 0, roofline_s = 0;  ///< device time by provenance
  double stated_error_s = 0;           ///< sum of device time times the oracle's stated relative error
};

}  // namespace dooly::replica
