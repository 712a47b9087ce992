#include "profiling_measure/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace dooly::profiling {

namespace {

/// Two-sided 95 % quantile of Student's t with so many degrees of freedom.
double student_t(std::size_t freedom) {
  static constexpr std::array<double, 31> kTable = {
      0,     12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
      2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  return freedom < kTable.size() ? kTable.at(freedom) : 1.96 + 2.5 / static_cast<double>(freedom);
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values, double mean) {
  if (values.size() < 2) {
    return 0;
  }
  const double squares = std::accumulate(values.begin(), values.end(), 0.0, [mean](double sum, double value) {
    return sum + (value - mean) * (value - mean);
  });
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

double relative_interval(std::span<const double> values) {
  if (values.size() < 2) {
    return std::numeric_limits<double>::infinity();
  }
  const double mean = mean_of(values);
  const double error = deviation_of(values, mean) / std::sqrt(static_cast<double>(values.size()));
  return student_t(values.size() - 1) * error / mean;
}

double percentile(std::span<const double> sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void summarise(std::span<const double> seconds, oracle::Sample& sample) {
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::sort(sorted.begin(), sorted.end());
  sample.count = static_cast<std::uint32_t>(sorted.size());
  sample.mean_s = mean_of(sorted);
  sample.std_s = deviation_of(sorted, sample.mean_s);
  sample.median_s = percentile(sorted, 0.5);
  sample.min_s = sorted.front();
  sample.p10_s = percentile(sorted, 0.1);
  sample.p90_s = percentile(sorted, 0.9);
}

}  // namespace dooly::profiling
