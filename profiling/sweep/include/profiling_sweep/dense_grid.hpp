#pragma once

#include "oracle/sample.hpp"
#include "profiling_sweep/operation.hpp"
#include "profiling_sweep/sweep_limits.hpp"

#include <vector>

namespace dooly::profiling {

/// The fixed grid that earlier profilers of serving engines measure, for comparison: every number of tokens 1, 2, 4,
/// then by 8 up to 1,024, by 16 up to 2,048, by 32, 64, 128 … in each further octave; of attention single prefill
/// chunks (by 8 up to 128, by 32, 64, 128, 256) times cached tokens (by 32 up to 1,024, by 64 up to 4,096, by 256), and
/// decodes of equal lengths in every batch size up to 128, then by 8, times the same cached tokens. One clock regime,
/// one routing, nothing mixed. All within the limits.
std::vector<oracle::SamplePoint> dense_grid(const Operation& operation, const SweepLimits& limits);

}  // namespace dooly::profiling
