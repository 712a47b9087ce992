#include "profiling_comm/size_plan.hpp"

#include "oracle/step_plan.hpp"
#include "oracle_profiled/entry_work.hpp"
#include "oracle_profiled/work_curve.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::profiling {
namespace {

using oracle::Sample;
using oracle::SampleStatus;
using oracle::WorkCurve;

constexpr double kClosest = 1.3;  // ratio of neighbours between which nothing is measured

oracle::RowWork work_of(const Collective& collective, const oracle::Gpu& gpu) {
  oracle::PlanEntry entry;
  entry.key = key_of(collective, LaunchMode::kBackToBack);
  entry.binding = oracle::Binding::kCollective;
  return entry_work(entry, gpu, {}, gpu.link_bandwidth, collective.ranks);
}

std::vector<WorkCurve::Point> points_of(const std::vector<Sample>& samples) {
  std::vector<WorkCurve::Point> points;
  for (const Sample& sample : samples)
    if (sample.status == SampleStatus::kOk && sample.median_s > 0)
      points.push_back({static_cast<double>(sample.point[0]), sample.median_s});
  std::sort(points.begin(), points.end(),
            [](const WorkCurve::Point& a, const WorkCurve::Point& b) { return a.x < b.x; });
  return points;
}

/// The size was tried, or a smaller one found no memory.
bool is_settled(const std::vector<Sample>& samples, std::uint64_t bytes) {
  return std::any_of(samples.begin(), samples.end(), [bytes](const Sample& sample) {
    return sample.point[0] == bytes || (sample.status == SampleStatus::kOutOfMemory && sample.point[0] < bytes);
  });
}

/// Relative error of each point from the curve through the others; 0 for the ends.
std::vector<double> left_out_errors(const std::vector<WorkCurve::Point>& points, const oracle::RowWork& work) {
  std::vector<double> errors(points.size(), 0);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    std::vector<WorkCurve::Point> rest = points;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    errors[i] = std::abs(WorkCurve(std::move(rest), work).at(points[i].x).seconds / points[i].seconds - 1);
  }
  return errors;
}

}  // namespace

SizePlan::SizePlan(const Collective& collective, const SizeLimits& limits, const oracle::Gpu& gpu)
    : collective_(collective),
      limits_(limits),
      work_(work_of(collective, gpu)) {
  const std::uint64_t step = granule(collective);
  for (std::uint64_t power = 1; power != 0 && power <= limits.last; power *= 2) {
    const std::uint64_t bytes = power / step * step;
    if (power >= limits.first && bytes > 0) powers_.push_back(bytes);
  }
}

std::vector<std::uint64_t> SizePlan::between(const std::vector<Sample>& samples) const {
  const std::vector<WorkCurve::Point> points = points_of(samples);
  if (points.size() >= limits_.max_points) return {};
  const std::vector<double> errors = left_out_errors(points, work_);
  const double step = static_cast<double>(granule(collective_));
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const WorkCurve::Point &low = points[i - 1], &high = points[i];
    const bool is_flat = high.seconds <= low.seconds * (1 + limits_.target);  // times do not fall with the size
    if (is_flat || high.x < kClosest * low.x || std::max(errors[i - 1], errors[i]) <= limits_.target) continue;
    const auto bytes = static_cast<std::uint64_t>(std::round(std::sqrt(low.x * high.x) / step) * step);
    const auto x = static_cast<double>(bytes);
    if (x > low.x && x < high.x && !is_settled(samples, bytes)) sizes.push_back(bytes);
  }
  if (points.size() + sizes.size() > limits_.max_points) sizes.resize(limits_.max_points - points.size());
  return sizes;
}

std::vector<std::uint64_t> SizePlan::next(const std::vector<Sample>& samples) const {
  std::vector<std::uint64_t> sizes;
  for (const std::uint64_t bytes : powers_)
    if (!is_settled(samples, bytes)) sizes.push_back(bytes);
  return sizes.empty() ? between(samples) : sizes;
}

double SizePlan::fold_error(const std::vector<Sample>& samples) const {
  return WorkCurve(points_of(samples), work_).fold_error();
}

}  // namespace dooly::profiling
