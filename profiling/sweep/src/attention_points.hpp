#pragma once

#include "oracle/sample.hpp"
#include "oracle_profiled/attention_model.hpp"
#include "profiling_sweep/operation.hpp"
#include "profiling_sweep/sweep_limits.hpp"

#include <array>
#include <vector>

namespace dooly::profiling {

/// What of attention a point measures. Each is fitted by other regressors.
enum class AttentionPart : std::uint8_t { kDecode, kPrefill, kMixed, kRagged };
AttentionPart part_of(const oracle::SamplePoint& point);

/// Those of `wanted` within the limits; of a window its length and twice that, and nothing beyond.
std::vector<std::uint64_t> prefill_contexts(const std::vector<std::uint64_t>& wanted,
                                            const oracle::AttentionRoofline& work, const SweepLimits& limits);

/// Points of one part but prefill (see PrefillGrid): the start, and all that may be added.
struct AttentionPoints {
  std::vector<oracle::SamplePoint> start;
  std::vector<oracle::SamplePoint> pool;  ///< without `start`
};
/// Contexts follow the operator's window: beyond it one that shows that nothing changes any more.
AttentionPoints attention_points(AttentionPart part, const oracle::AttentionRoofline& work, const SweepLimits& limits);

/// Where a point lies in the fit, in octaves: what is close there is close in time.
std::array<double, 4> octaves(const oracle::SamplePoint& point, const oracle::AttentionRoofline& work);

}  // namespace dooly::profiling
