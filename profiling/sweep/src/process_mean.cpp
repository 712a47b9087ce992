#include "process_mean.hpp"

#include "sample_view.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::profiling {

bool is_short(const oracle::Sample& sample) {
  return is_usable(sample) && sample.regime != oracle::ClockRegime::kUnknown && sample.median_s < kShortS;
}

unsigned processes_of(const oracle::Sample& sample) { return std::max(1u, static_cast<unsigned>(sample.processes)); }

oracle::Sample mean_over_processes(const oracle::Sample& before, const oracle::Sample& now) {
  const double weight = processes_of(before), all = weight + 1;
  oracle::Sample mean = before;
  for (const auto figure :
       {&oracle::Sample::median_s, &oracle::Sample::mean_s, &oracle::Sample::p10_s, &oracle::Sample::p90_s,
        &oracle::Sample::sm_clock_mhz, &oracle::Sample::power_w, &oracle::Sample::temperature_c})
    mean.*figure = (weight * before.*figure + now.*figure) / all;
  const auto square = [](const oracle::Sample& sample) {
    return sample.std_s * sample.std_s + sample.mean_s * sample.mean_s;
  };
  const double squares = (weight * square(before) + square(now)) / all;
  mean.std_s = std::sqrt(std::max(0.0, squares - mean.mean_s * mean.mean_s));
  mean.min_s = std::min(before.min_s, now.min_s);
  mean.count = before.count + now.count;
  mean.processes = all;
  return mean;
}

void average_over_processes(Measurer& measurer, const std::function<std::vector<ShortPoint>()>& wanting,
                            const std::function<std::optional<oracle::Sample>(const ShortPoint&)>& again,
                            const std::function<void(const ShortPoint&)>& keep) {
  for (unsigned process = 1; process < kProcesses; ++process) {
    std::vector<ShortPoint> points = wanting();
    if (points.empty() || !measurer.renew()) return;
    std::stable_sort(points.begin(), points.end(),
                     [](const ShortPoint& a, const ShortPoint& b) { return a.sample->regime < b.sample->regime; });
    for (const ShortPoint& point : points) {
      const auto now = again(point);
      if (!now) return;
      if (!is_usable(*now)) continue;
      *point.sample = mean_over_processes(*point.sample, *now);
      keep(point);
    }
  }
}

}  // namespace dooly::profiling
