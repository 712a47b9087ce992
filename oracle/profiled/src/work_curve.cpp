#include "oracle_profiled/work_curve.hpp"

#include <cmath>

namespace dooly::oracle {

void make_monotone(double* values, std::size_t count, std::size_t stride) {
  struct Pool {
    double mean;
    std::size_t size;
  };
  std::vector<Pool> pools;
  pools.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Pool pool{values[i * stride], 1};
    while (!pools.empty() && pools.back().mean > pool.mean) {
      const Pool& left = pools.back();
      const auto sizes = static_cast<double>(left.size + pool.size);
      pool.mean = (left.mean * static_cast<double>(left.size) + pool.mean * static_cast<double>(pool.size)) / sizes;
      pool.size += left.size;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::size_t i = 0;
  for (const Pool& pool : pools)
    for (std::size_t k = 0; k < pool.size; ++k) values[i++ * stride] = pool.mean;
}

namespace {

using Point = WorkCurve::Point;

std::vector<Point> distinct(std::vector<Point> points) {
  std::erase_if(points, [](const Point& p) { return !(p.seconds > 0 && p.seconds < 1e6 && p.x >= 0); });
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.seconds < b.seconds; });
  std::vector<Point> out;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t j = i;
    double seconds = 0, error = 0;
    for (; j < points.size() && points[j].x == points[i].x; ++j) {
      seconds += points[j].seconds;
      error += points[j].error;
    }
    const auto count = static_cast<double>(j - i);
    out.push_back({points[i].x, seconds / count, points[i].kernels, error / count, points[i].origin});
    i = j;
  }
  return out;
}

/// Makes the times of each stretch of one kernel monotone.
void raise(std::vector<Point>& points) {
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    std::vector<double> seconds;
    for (; end < points.size() && points[end].kernels == points[begin].kernels; ++end)
      seconds.push_back(points[end].seconds);
    make_monotone(seconds.data(), seconds.size());
    for (std::size_t i = begin; i < end; ++i) points[i].seconds = seconds[i - begin];
  }
}

}  // namespace

WorkCurve::WorkCurve(std::vector<Point> points, const RowWork& work)
    : points_(distinct(std::move(points))),
      work_(work) {
  for (const Point& p : points_) measured_.push_back(p.seconds);
  points_error_ = mean_error(points_);
  fold_error_ = measure_folds();
  raise(points_);
}

double WorkCurve::between(std::size_t upper, double x) const {
  const Point& a = points_[upper - 1];
  const Point& b = points_[upper];
  const double from = work_.progress(a.x);
  const double span = work_.progress(b.x) - from;
  const double part = span > 0 ? (work_.progress(x) - from) / span : (x - a.x) / (b.x - a.x);
  return a.seconds + (b.seconds - a.seconds) * std::clamp(part, 0.0, 1.0);
}

Answer WorkCurve::at(double x) const {
  if (points_.empty()) return {work_.seconds(x), Origin::kRoofline, kRooflineError};
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), x, [](const Point& p, double v) { return p.x < v; });
  if (above != points_.end() && above->x == x) {
    const double measured = measured_[static_cast<std::size_t>(above - points_.begin())];
    const bool is_product = work_.tile > 1;
    const double seconds = is_product ? measured : above->seconds;
    const double error = std::max(std::abs(seconds / measured - 1), above->error);
    const Origin origin = worse(best_, above->origin);
    if (origin != Origin::kMeasured) return {seconds, origin, std::max(fold_error_, error)};
    return {seconds, Origin::kMeasured, error};
  }
  if (above != points_.begin() && above != points_.end()) {
    // Of what a sweep measured, steps were looked for: a row behind an edge is a point where one was found.
    const bool is_swept = above->kernels != 0 && std::prev(above)->kernels != 0;
    const double rows = is_swept ? x : std::min(work_.tiled(x), above->x);
    return {between(static_cast<std::size_t>(above - points_.begin()), rows), worse(best_, Origin::kInterpolated),
            interpolation_error()};
  }
  const Point& near = above == points_.end() ? points_.back() : points_.front();
  const double doublings = std::abs(std::log2((x + 1) / (near.x + 1)));
  const double base = points_.size() == 1 ? kOnePointError : std::max(interpolation_error(), kExtrapolationError);
  const double least = work_.seconds(near.x);
  return {least > 0 ? near.seconds * (work_.seconds(x) / least) : near.seconds, worse(best_, Origin::kExtrapolated),
          std::min(1.0, base + kExtrapolationError * doublings)};
}

double WorkCurve::measure_folds() const {
  if (points_.size() < 3) return 0;
  const std::size_t inner = points_.size() - 2;
  const std::size_t folds = std::min<std::size_t>(10, inner);
  double sum = 0;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    WorkCurve rest;
    rest.work_ = work_;
    const auto left_out = [&](std::size_t i) { return i > 0 && i + 1 < points_.size() && (i - 1) % folds == fold; };
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (!left_out(i)) rest.points_.push_back(points_[i]);
    for (const Point& p : rest.points_) rest.measured_.push_back(p.seconds);
    raise(rest.points_);
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (left_out(i)) sum += std::abs(rest.at(points_[i].x).seconds / points_[i].seconds - 1);
  }
  return sum / static_cast<double>(inner);
}

}  // namespace dooly::oracle
