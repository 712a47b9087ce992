#include "profiling_comm/comm_sampling.hpp"

#include "profiling_measure/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dooly::profiling {
namespace {

double sum_of(const std::vector<double>& seconds) {
  double sum = 0;
  for (const double each : seconds) sum += each;
  return sum;
}

struct Stop {
  std::uint32_t min_count, max_count;
  double interval;
};

Stop stop_of(LaunchMode mode, const CommSampling& sampling) {
  if (mode == LaunchMode::kIsolated)
    return {sampling.isolated_min_count, sampling.isolated_max_count, sampling.isolated_interval};
  return {sampling.min_count, sampling.max_count, sampling.interval};
}

bool is_enough(const std::vector<double>& seconds, double spent_s, const Stop& stop, double budget_s) {
  if (seconds.size() < stop.min_count) return false;
  return seconds.size() >= stop.max_count || spent_s >= budget_s || relative_interval(seconds) <= stop.interval;
}

}  // namespace

std::uint32_t comm_launches_for(double single_s, const CommSampling& sampling) {
  const double wanted = std::ceil(sampling.unit_s / std::max(single_s, 1e-7));
  return static_cast<std::uint32_t>(std::clamp(wanted, 1.0, static_cast<double>(sampling.max_launches)));
}

oracle::Sample sample_collective(RankGroup& group, const Collective& collective, std::uint64_t bytes, LaunchMode mode,
                                 const CommSampling& sampling, double& device_s) {
  DeviceReading reading;
  CommWork work{collective, bytes, mode, 1};
  bool is_captured = group.prepare(work);
  const auto run = [&](std::uint32_t repetitions) {
    std::vector<double> seconds = group.run(repetitions, reading);
    device_s += sum_of(seconds) * work.launches;
    return seconds;
  };
  std::vector<double> warm = run(sampling.warm_up);
  if (mode == LaunchMode::kBackToBack) {
    work.launches = comm_launches_for(*std::min_element(warm.begin(), warm.end()), sampling);
    if (work.launches > 1) {
      is_captured = group.prepare(work);
      run(1);
    }
  }
  const Stop stop = stop_of(mode, sampling);
  const double before_s = device_s;
  std::vector<double> seconds;
  while (!is_enough(seconds, device_s - before_s, stop, sampling.budget_s)) {
    const auto more = run(std::min<std::uint32_t>(
        sampling.at_once, stop.max_count - std::min(stop.max_count - 1, static_cast<std::uint32_t>(seconds.size()))));
    seconds.insert(seconds.end(), more.begin(), more.end());
  }
  oracle::Sample sample;
  sample.point = {bytes, collective.ranks};
  sample.regime = oracle::ClockRegime::kCool;
  summarise(seconds, sample);
  sample.sm_clock_mhz = reading.sm_clock_mhz;
  sample.power_w = reading.power_w;
  sample.temperature_c = reading.temperature_c;
  if (mode == LaunchMode::kBackToBack && !is_captured)
    sample.note = "launched by the host one by one: gaps between launches are in the time";
  else if (const double interval = relative_interval(seconds); interval > sampling.loose_interval)
    sample.note = fmt::format("the mean is known to {:.0f}%", 100 * interval);
  return sample;
}

}  // namespace dooly::profiling
