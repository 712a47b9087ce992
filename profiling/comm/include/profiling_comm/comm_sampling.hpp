#pragma once

#include "oracle/sample.hpp"
#include "profiling_comm/rank_group.hpp"

namespace dooly::profiling {

/// How long to go on with one point.
struct CommSampling {
  std::uint32_t warm_up = 3;           ///< repetitions that do not count
  std::uint32_t at_once = 5;           ///< repetitions between two looks at the interval
  std::uint32_t min_count = 10, max_count = 60;
  double interval = 0.01;              ///< enough when the mean is known to this (95 %)
  std::uint32_t isolated_min_count = 20, isolated_max_count = 100;
  double isolated_interval = 0.02;
  double loose_interval = 0.05;        ///< a wider one at the end is noted
  double budget_s = 0.5;               ///< device time of one point, after which the least count is enough
  double unit_s = 1e-3;                ///< launches are put together until they last so long
  std::uint32_t max_launches = 64;
};

/// Launches that are timed as one.
std::uint32_t comm_launches_for(double single_s, const CommSampling& sampling);

/// Measures one size until the limits are met. The sample is at {bytes, ranks}. `device_s` gets what was spent, warm-up
/// included. Throws RankFailure.
oracle::Sample sample_collective(RankGroup& group, const Collective& collective, std::uint64_t bytes, LaunchMode mode,
                                 const CommSampling& sampling, double& device_s);

}  // namespace dooly::profiling
