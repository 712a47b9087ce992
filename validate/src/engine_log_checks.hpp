#pragma once

#include "engine_log.hpp"

#include "oracle/batch_shape.hpp"
#include "sim/deployment.hpp"
#include "validate/comparison.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace dooly::validate {

/// A logged batch as the oracle sees it. `chunks` backs the shape's prefills.
struct LoggedShape {
  oracle::BatchShape shape;
  std::vector<oracle::PrefillChunk> chunks;
};

/// Follows the requests of a log through its iterations: what is known of each decides which chunk is a decode and
/// which samples, by the replica's rules.
class ShapeReader {
 public:
  explicit ShapeReader(const EngineLog& log) : log_(log), known_(log.requests.size(), 0) {}
  /// Of the next iteration of the log. Valid until the next call.
  const LoggedShape& next(const LoggedIteration& iteration);

 private:
  struct Holders {
    std::uint64_t tokens = 0, count = 0;
  };
  void tell_shared(const LoggedIteration& iteration);

  const EngineLog& log_;
  std::map<std::uint64_t, Holders> holders_;  ///< by group of requests with a common prefix
  std::vector<std::uint32_t> known_;  ///< tokens whose values are known or in flight; 0: never scheduled
  LoggedShape current_;
};

/// Every logged batch is given to the oracle. Adds for the classes of iterations CLASS.gpu (the replica's rule: the
/// later of kernels and launch, from where the real launch and device stood), CLASS.alone (the larger of kernels and
/// launch less its lead) and CLASS.kernels, each against the measured time on the GPU, and terms.* for the host's
/// times.
void compare_iterations(const EngineLog& log, const oracle::LatencyOracle& oracle, const oracle::CudaGraphs& graphs,
                        Comparison& comparison);

/// The engine is given the log's requests when they were added and its results when they were read; every scheduling
/// call must decide what the log says: batches, computed tokens, free blocks, preemptions. Adds tallies decisions.*.
void compare_decisions(const EngineLog& log, const sim::PoolDeployment& pool, Comparison& comparison);

}  // namespace dooly::validate
