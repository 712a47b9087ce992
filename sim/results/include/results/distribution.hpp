#pragma once

#include <cstdint>

namespace dooly::results {

/// Figures of one quantity. Without values (count 0) the others mean nothing.
/// Percentiles interpolate linearly between closest ranks (numpy's default); std is the population's.
struct Distribution {
  std::uint64_t count = 0;
  double mean = 0, std = 0, min = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;
  bool exact = true;  ///< false: percentiles come from a sketch with a relative error of at most 0.1 %
};

/// The four times of a request, and the pooled gaps between its tokens, in seconds.
struct LatencyFigures {
  Distribution ttft, tpot, itl, e2e, queue;
};

}  // namespace dooly::results
