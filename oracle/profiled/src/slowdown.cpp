#include "oracle_profiled/slowdown.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

/// Kernels of a few microseconds scatter by more than their clock: no kernel gains by a slower clock, and none loses
/// more than the clock does (1,980 to some 1,250 MHz).
constexpr double kMost = 1.6;

double held(double ratio) { return std::clamp(ratio, 1.0, kMost); }

}  // namespace

void RowSlowdown::measured(const std::map<double, double>& ratio_by_rows, const RowWork& work) {
  double sum = 0, weights = 0;
  for (const auto& [rows, ratio] : ratio_by_rows) {
    points_.push_back({rows, held(ratio)});
    const double weight = work.clock_factor(rows, 1.1) - 1;  // where computing bounds
    if (weight <= 0) continue;
    sum += weight * ratio;
    weights += weight;
  }
  if (weights > 0) computing_ = std::max(1.0, sum / weights);
}

double RowSlowdown::factor(const RowWork& work, double rows) const {
  if (points_.empty()) return work.clock_factor(rows, computing_, reading_);
  if (rows <= points_.front().rows) {
    const bool computing_alone = work.clock_factor(points_.front().rows, 1.1) > 1;
    return computing_alone ? work.clock_factor(rows, points_.front().ratio, reading_) : points_.front().ratio;
  }
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), rows, [](const Point& p, double x) { return p.rows < x; });
  if (above == points_.end()) return points_.back().ratio;
  const Point& below = *std::prev(above);
  const double part = std::log(rows / below.rows) / std::log(above->rows / below.rows);
  return below.ratio + (above->ratio - below.ratio) * part;
}

/// 1 + x of a node.
double AttentionSlowdown::coordinate(std::size_t node) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0) + (std::uint64_t{node} << kShift));
}

AttentionSlowdown::AttentionSlowdown(const std::vector<Point>& points) : count_(points.size()) {
  constexpr double kSame = 1e-12;
  if (points.empty()) return;
  std::vector<Point> logs;
  double sum = 0;
  for (const Point& p : points) {
    logs.push_back({std::log2(1 + p.u), std::log2(1 + p.v), held(p.ratio)});
    sum += logs.back().ratio;
  }
  mean_ = sum / static_cast<double>(points.size());
  std::vector<double> at_v;
  for (std::size_t j = 0; j <= kColumns; ++j) at_v.push_back(std::log2(coordinate(j)));
  for (std::size_t i = 0; i <= kRows; ++i) {
    const double u = std::log2(coordinate(i));
    for (const double v : at_v) {
      double ratios = 0, weights = 0;
      for (const Point& p : logs) {
        const double weight = 1 / ((p.u - u) * (p.u - u) + (p.v - v) * (p.v - v) + kSame);
        ratios += weight * p.ratio;
        weights += weight;
      }
      table_.push_back(static_cast<float>(ratios / weights));
    }
  }
}

std::map<SamplePoint, double> sustained_over_cool(const std::vector<Sample>& samples) {
  SustainedOverCool<SamplePoint> both;
  for (const Sample& s : samples) {
    if (s.status != SampleStatus::kOk || !(s.median_s > 0)) continue;
    if (s.regime == ClockRegime::kSustained) both.add_sustained(s.point, s.median_s);
    if (s.regime == ClockRegime::kCool) both.add_cool(s.point, s.median_s);
  }
  return both.ratios();
}

}  // namespace dooly::oracle
