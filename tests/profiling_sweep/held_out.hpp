#pragma once

#include "oracle/operator_keys.hpp"
#include "profiling_sweep/sample_archive.hpp"
#include "profiling_sweep/signature_fit.hpp"
#include "profiling_sweep/sweep.hpp"
#include "synthetic_measurer.hpp"

namespace dooly::profiling {

/// Errors of a fit at random points that a served step may have, against the law without noise.
struct HeldOut {
  double median = 0, mean = 0, p90 = 0, max = 0;
  double by_time = 0;  ///< sum of errors in seconds ÷ sum of times
};
HeldOut held_out(const Operation& operation, const std::vector<oracle::Sample>& samples, const SweepLimits& limits,
                 std::size_t count = 400);
/// The fit is asked what the law says.
HeldOut errors_at(const Operation& operation, const std::vector<oracle::Sample>& samples,
                  const std::vector<oracle::SamplePoint>& points);

std::vector<oracle::SamplePoint> served_points(const Operation& operation, const SweepLimits& limits,
                                               std::size_t count);

/// Operations of Llama-3.1-8B's size and of a mixture of experts.
Operation linear(std::uint64_t k, std::uint64_t n);
Operation norm(std::uint64_t hidden);
Operation embedding();
Operation attention(std::uint32_t window = 0, const char* family = "fa3");
Operation experts();

}  // namespace dooly::profiling
