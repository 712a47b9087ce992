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

AttentionSlowdown::AttentionSlowdown(const std::vector<Point>& points) {
  for (const Point& p : points) {
    const std::size_t k = count_++ % 4;
    if (k == 0) fours_.emplace_back();
    Four& four = fours_.back();
    four.u[k] = std::log2(1 + p.u);
    four.v[k] = std::log2(1 + p.v);
    four.ratio[k] = held(p.ratio);
  }
}

/// Four points at a time, in two lanes: a / b + c / d = (a d + c b) / (b d) saves divisions.
double AttentionSlowdown::factor(double u, double v) const {
  constexpr double kSame = 1e-12;
  const double at_u = std::log2(1 + u), at_v = std::log2(1 + v);
  double sum[2] = {0, 0}, weights[2] = {0, 0};
  for (const Four& four : fours_) {
    double square[4];
    for (int k = 0; k < 4; ++k) {
      const double du = four.u[k] - at_u, dv = four.v[k] - at_v;
      square[k] = du * du + dv * dv;
    }
    const bool is_at_one = (square[0] < kSame) | (square[1] < kSame) | (square[2] < kSame) | (square[3] < kSame);
    if (is_at_one) return four.ratio[std::min_element(square, square + 4) - square];
    for (int k = 0; k < 2; ++k) {
      const double near = square[k], far = square[k + 2], over = 1 / (near * far);
      sum[k] += (four.ratio[k] * far + four.ratio[k + 2] * near) * over;
      weights[k] += (near + far) * over;
    }
  }
  return count_ > 0 ? (sum[0] + sum[1]) / (weights[0] + weights[1]) : 1;
}

double AttentionSlowdown::mean() const {
  double sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += fours_[i / 4].ratio[i % 4];
  return count_ == 0 ? 1 : sum / static_cast<double>(count_);
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
