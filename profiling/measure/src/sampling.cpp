#include "profiling_measure/sampling.hpp"

#include "profiling_measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace dooly::profiling {

namespace {

constexpr double kFirstLoad = 1.5;    // s
constexpr double kWarmUp = 0.35;     // s of load that bring a cold device to its power cap
constexpr double kKeepHot = 0.012;   // s of load before each run of a device that is there
constexpr double kHeatPerRest = 0.7; // s of load for each second without, in between
constexpr double kAfterHeat = 1.0;    // s of rest until nothing of a load is felt (seen on an H200: 0.75)
constexpr double kShortestPause = 2e-3;
constexpr double kLongestPause = 0.2;
constexpr double kPausePerWork = 4;   // rest for so many times the length of a run
constexpr double kFullClock = 0.985;  // of the greatest: less is throttled
constexpr std::uint32_t kMostRejected = 12;

double median_of(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  return percentile(values, 0.5);
}

/// Device readings of a point's runs, summed up as their medians.
struct Readings {
  std::vector<double> clock, power, temperature;
  void add(const DeviceReading& reading) {
    clock.push_back(reading.sm_clock_mhz);
    power.push_back(reading.power_w);
    temperature.push_back(reading.temperature_c);
  }
  void write(oracle::Sample& sample) const {
    sample.sm_clock_mhz = median_of(clock);
    sample.power_w = median_of(power);
    sample.temperature_c = median_of(temperature);
  }
};

/// The limits of a regime, as those of any.
SamplingLimits limits_of(oracle::ClockRegime regime, SamplingLimits limits) {
  if (regime == oracle::ClockRegime::kSustained) {
    limits.interval = std::max(limits.interval, limits.sustained_interval);
    limits.max_count = std::max(limits.min_count, std::min(limits.max_count, limits.sustained_max_count));
  }
  return limits;
}

bool is_enough(const std::vector<double>& seconds, double spent_s, const SamplingLimits& limits) {
  if (seconds.size() < limits.min_count) {
    return false;
  }
  return seconds.size() >= limits.max_count || spent_s >= limits.budget_s ||
         relative_interval(seconds) <= limits.interval;
}

}  // namespace

std::uint32_t launches_for(double single_s, std::size_t copies, const SamplingLimits& limits) {
  const double wanted = std::ceil(limits.unit_s / std::max(single_s, 1e-7));
  auto launches = static_cast<std::uint32_t>(std::clamp(wanted, 1.0, static_cast<double>(limits.max_launches)));
  const double all_copies_s = single_s * static_cast<double>(copies);
  if (launches < copies && copies <= limits.max_launches && all_copies_s <= 8 * limits.unit_s) {
    launches = static_cast<std::uint32_t>(copies);
  }
  return launches;
}

void PointSampler::condition() {
  timer_->heat(kFirstLoad);
  hot_until_s_ = timer_->now();
}

void PointSampler::settle(TimedWork& work, oracle::ClockRegime regime, double last_s) {
  if (regime == oracle::ClockRegime::kSustained) {
    timer_->heat(std::clamp(kHeatPerRest * (timer_->now() - hot_until_s_), kKeepHot, kWarmUp));
    hot_until_s_ = timer_->now();
    return;
  }
  if (const double rested = timer_->now() - hot_until_s_; rested < kAfterHeat) {
    timer_->pause(kAfterHeat - rested);
  }
  timer_->pause(std::clamp(kPausePerWork * last_s, kShortestPause, kLongestPause));
  if (last_s < kShortestPause) {  // a device that rested starts slowly: once untimed, if that costs nothing
    DeviceReading unused;
    work.run(unused);
  }
}

void PointSampler::sample(const Timer::Run& run, std::size_t copies, oracle::ClockRegime regime, oracle::Sample& into) {
  DeviceReading reading;
  const auto single = timer_->prepare(run, 1, copies);
  single->run(reading);  // loads kernels
  const std::uint32_t launches = launches_for(single->run(reading), copies, limits_);
  const auto work = launches == 1 ? nullptr : timer_->prepare(run, launches, copies);
  TimedWork& timed = work ? *work : *single;

  std::vector<double> seconds;
  Readings readings;
  double spent_s = 0, last_s = timed.run(reading);
  std::uint32_t rejected = 0;
  const SamplingLimits limits = limits_of(regime, limits_);
  while (!is_enough(seconds, spent_s, limits)) {
    settle(timed, regime, last_s * (1 + rejected));
    last_s = timed.run(reading);
    if (regime == oracle::ClockRegime::kSustained) {
      hot_until_s_ = timer_->now();
    }
    spent_s += last_s;
    const bool throttled = regime == oracle::ClockRegime::kCool && reading.sm_clock_mhz > 0 &&
                           reading.sm_clock_mhz < kFullClock * timer_->top_clock_mhz();
    if (throttled && rejected < kMostRejected) {
      ++rejected;
      continue;
    }
    seconds.push_back(last_s / launches);
    readings.add(reading);
  }
  summarise(seconds, into);
  readings.write(into);
  if (!timed.is_captured()) {
    into.note = "launched by the host one by one: gaps between launches are in the time";
  }
}

}  // namespace dooly::profiling
