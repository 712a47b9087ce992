#pragma once

#include "oracle/sample.hpp"
#include "profiling_measure/timer.hpp"

#include <cstdint>

namespace dooly::profiling {

/// How long to go on with one point.
struct SamplingLimits {
  std::uint32_t min_count = 5, max_count = 60;
  double interval = 0.01;         ///< enough when the mean is known to this (95 %)
  double sustained_interval = 0.02;  ///< the same at the power cap, where the clock is never still
  std::uint32_t sustained_max_count = 24;
  double budget_s = 0.4;          ///< device time in the timed runs, after which `min_count` is enough
  double unit_s = 300e-6;         ///< runs are put together until they last so long
  std::uint32_t max_launches = 96;
};

/// Runs of an operator that are timed as one, so that neither the clock's resolution nor the start of the first launch
/// counts. All copies of the inputs come round once if that is not much longer.
std::uint32_t launches_for(double single_s, std::size_t copies, const SamplingLimits& limits);

/// Times one operator until the limits are met. In the cool regime the device rests between the runs, so that it keeps
/// its highest clock; in the sustained one it computes large matrix products right up to each run, so that its clock is
/// the one its power allows.
class PointSampler {
 public:
  PointSampler(Timer& timer, const SamplingLimits& limits) : timer_(&timer), limits_(limits) {}
  /// Loads the device once. A GPU that nobody used for long computes matrix products several per cent faster, at the
  /// same clock, until its first load (7 % seen on an H200): a state that serving does not meet.
  void condition();
  /// Fills times, count, clock, power, temperature and note.
  void sample(const Timer::Run& run, std::size_t copies, oracle::ClockRegime regime, oracle::Sample& into);

 private:
  void settle(TimedWork& work, oracle::ClockRegime regime, double last_s);

  Timer* timer_;
  SamplingLimits limits_;
  double hot_until_s_ = -1e9;  ///< when heat() was last asked for
};

}  // namespace dooly::profiling
