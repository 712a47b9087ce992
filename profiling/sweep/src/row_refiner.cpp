#include "row_refiner.hpp"

#include "oracle/kernel_families.hpp"
#include "oracle_profiled/entry_work.hpp"
#include "sample_view.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace dooly::profiling {
namespace {

using oracle::ClockRegime;
using oracle::WorkCurve;

constexpr std::size_t kPerRound = 4;  // of one curve
/// Mean error between two points as a share of the largest that is possible: a step at an unknown place.
constexpr double kWithin = 0.25;
constexpr double kMean = 0.33, kTail = 3;

std::uint32_t routing_of(const Operation& operation, const oracle::Sample& sample) {
  return operation.binding == oracle::Binding::kExperts ? static_cast<std::uint32_t>(sample.point[2]) : 0;
}

/// `routing` of experts, else 0.
oracle::RowWork work_of(const Operation& operation, const oracle::Gpu& gpu, std::uint32_t routing) {
  const oracle::RowWork work = entry_work(operation, gpu, {}, gpu.link_bandwidth, 1);
  return routing == 0 ? balanced_work(work, operation.key) : work;
}

}  // namespace

WorkCurve row_curve(const Operation& operation, const std::vector<oracle::Sample>& samples, std::uint32_t routing,
                    const oracle::Gpu& gpu) {
  std::vector<WorkCurve::Point> points;
  for (const oracle::Sample& sample : samples) {
    if (!is_usable(sample) || sample.regime == ClockRegime::kSustained || routing_of(operation, sample) != routing)
      continue;
    points.push_back({static_cast<double>(sample.point[0]), sample.median_s, oracle::kernels_mark(sample)});
  }
  return WorkCurve(std::move(points), work_of(operation, gpu, routing));
}

RowRefiner::RowRefiner(const Operation& operation, const oracle::Gpu& gpu, const RefineSettings& settings,
                       const Operation* near, const std::vector<oracle::Sample>* near_samples)
    : operation_(operation),
      settings_(settings),
      balanced_(work_of(operation, gpu, 0)),
      work_(balanced_),
      candidates_(operation, settings.limits) {
  work_.in_expert_tiles = false;
  if (operation.binding != oracle::Binding::kExperts) settings_.routings = {0};
  if (near == nullptr || near_samples == nullptr) return;
  WorkCurve curve = row_curve(*near, *near_samples, 0, gpu);
  // Steps of matrix products come with the number of tiles, so those of another size are a hint alone.
  if (curve.points().size() >= 4)
    near_ = Prior{std::move(curve), work_of(*near, gpu, 0), !multiplies_matrices(operation.key)};
}

oracle::SamplePoint RowRefiner::point_at(std::uint64_t rows, std::uint32_t routing) const {
  if (operation_.binding != oracle::Binding::kExperts) return {rows};
  return {rows, 0, routing};
}

RowRefiner::Points RowRefiner::points_of(const std::vector<oracle::Sample>& samples, std::uint32_t routing,
                                         bool sustained) const {
  struct Sum {
    double seconds = 0;
    int count = 0;
    std::uint64_t kernels = 0;
  };
  std::map<std::uint64_t, Sum> sums;
  for (const oracle::Sample& sample : samples) {
    if (!is_usable(sample) || (sample.regime == ClockRegime::kSustained) != sustained ||
        routing_of(operation_, sample) != routing)
      continue;
    Sum& sum = sums[sample.point[0]];
    sum.seconds += sample.median_s;
    ++sum.count;
    sum.kernels = oracle::kernels_mark(sample);
  }
  Points points;
  for (const auto& [rows, sum] : sums) points[rows] = {sum.seconds / sum.count, sum.kernels};
  return points;
}

double RowRefiner::expected(const Prior& prior, std::uint64_t rows) const {
  const double x = static_cast<double>(rows);
  const double least = prior.work.seconds(x);
  return least > 0 ? prior.curve.at(x).seconds * (work_.seconds(x) / least) : prior.curve.at(x).seconds;
}

/// Without a prior a coarse grid. With one, those rows that the interpolation needs to follow it, and two that check.
std::vector<std::uint64_t> RowRefiner::start_rows(const std::optional<Prior>& prior,
                                                  const oracle::RowWork& work) const {
  if (!prior) return candidates_.start();
  constexpr std::size_t kMost = 14;
  std::vector<WorkCurve::Point> chosen;
  for (const std::uint64_t rows : {std::uint64_t{1}, candidates_.largest()})
    chosen.push_back({double(rows), expected(*prior, rows)});
  while (chosen.size() < kMost) {
    const WorkCurve curve(chosen, work);
    WorkCurve::Point worst;
    double error = settings_.target;
    for (const std::uint64_t rows : candidates_.coarse()) {
      const double time = expected(*prior, rows);
      const double off = std::abs(curve.at(double(rows)).seconds / time - 1);
      if (off > error) error = off, worst = {double(rows), time};
    }
    if (!(worst.x > 0)) break;
    chosen.push_back(worst);
  }
  std::set<std::uint64_t> rows;
  for (const WorkCurve::Point& point : chosen) rows.insert(static_cast<std::uint64_t>(point.x));
  for (const std::uint64_t check : {std::uint64_t{64}, candidates_.largest() / 4})
    if (check > 1 && check < candidates_.largest()) rows.insert(check);
  return {rows.begin(), rows.end()};
}

bool RowRefiner::is_other_kernel(const Time& a, const Time& b) {
  return a.kernels != 0 && b.kernels != 0 && a.kernels != b.kernels;
}

double RowRefiner::left_out_error(Points::const_iterator low, Points::const_iterator point, Points::const_iterator high,
                                  const oracle::RowWork& work) {
  const WorkCurve rest({{double(low->first), low->second.seconds}, {double(high->first), high->second.seconds}}, work);
  return std::abs(rest.at(double(point->first)).seconds / point->second.seconds - 1);
}

/// The measured ends keep the prior's ratio, and the interpolation follows the prior between them.
bool RowRefiner::is_settled_by(const Prior& prior, Points::const_iterator low, Points::const_iterator high,
                               const oracle::RowWork& work) const {
  const double from = expected(prior, low->first), to = expected(prior, high->first);
  if (std::abs((high->second.seconds / low->second.seconds) / (to / from) - 1) > settings_.target) return false;
  const WorkCurve line({{double(low->first), from}, {double(high->first), to}}, work);
  for (const std::uint64_t rows : candidates_.coarse()) {
    if (rows <= low->first || rows >= high->first) continue;
    if (std::abs(line.at(double(rows)).seconds / expected(prior, rows) - 1) > settings_.target) return false;
  }
  return true;
}

std::vector<std::uint64_t> RowRefiner::curve_rows(const Points& points, const std::optional<Prior>& prior,
                                                  const oracle::RowWork& work, Errors& errors) const {
  std::vector<std::uint64_t> missing;
  const std::vector<std::uint64_t> start = start_rows(prior, work);
  // A sweep that was cut short went on with what it had: the ends are asked for until they are there.
  const bool has_ends = points.contains(start.front()) && points.contains(start.back());
  if (points.size() < 3 || !prior || !has_ends) {
    for (const std::uint64_t rows : start)
      if (!points.contains(rows)) missing.push_back(rows);
  }
  for (const std::uint64_t rows : candidates_.always())
    if (!points.contains(rows) && std::find(missing.begin(), missing.end(), rows) == missing.end())
      missing.push_back(rows);
  std::map<std::uint64_t, double> left_out;
  for (auto point = points.begin(); point != points.end(); ++point) {
    const auto high = std::next(point);
    if (point == points.begin() || high == points.end()) continue;
    const double error = left_out_error(std::prev(point), point, high, work);
    left_out[point->first] = error;
    errors.sum += error;
    ++errors.count;
  }
  if (points.size() < 2 || points.size() >= settings_.most_points) return missing;
  const auto error_at = [&](std::uint64_t rows) {  // the ends of the curve cannot be left out
    const auto found = left_out.find(rows);
    return found == left_out.end() ? 0 : found->second;
  };
  struct Interval {
    std::uint64_t split;
    double error;   ///< expected mean within
    double weight;  ///< octaves
  };
  const bool in_tiles = multiplies_matrices(operation_.key);
  std::vector<Interval> open;
  double range = 0, expected_error = 0, widest = 0;
  for (auto low = points.begin(); std::next(low) != points.end(); ++low) {
    const auto high = std::next(low);
    const double weight = std::log2(double(high->first) / double(low->first));
    range += weight;
    const double growth = high->second.seconds / low->second.seconds;
    if (!in_tiles && is_other_kernel(low->second, high->second) && high->first > low->first + 1 &&
        std::max(growth, 1 / growth) - 1 > kTail * settings_.target) {
      const std::uint64_t middle = low->first + (high->first - low->first) / 2;
      if (std::find(missing.begin(), missing.end(), middle) == missing.end()) missing.push_back(middle);
      continue;
    }
    double most = std::max(0.0, growth - 1);  // of one kernel time does not fall with the rows
    if (points.size() > 2) {
      const double seen = std::min(most, std::max(error_at(low->first), error_at(high->first)));
      most = in_tiles ? std::sqrt(most * seen) : seen;  // steps may hide between points that happen to agree
    }
    if (prior && prior->is_trusted && is_settled_by(*prior, low, high, work)) most = 0;
    const auto split = candidates_.between(low->first, high->first);
    if (!split) continue;
    const double error = most * kWithin;
    expected_error += weight * error;
    if (most > settings_.target) open.push_back({*split, error, weight});
    if (most > kTail * settings_.target) widest += weight;
  }
  if (expected_error <= kMean * settings_.target * range && widest <= 0.1 * range) return missing;
  std::stable_sort(open.begin(), open.end(),
                   [](const Interval& a, const Interval& b) { return a.error * a.weight > b.error * b.weight; });
  for (std::size_t i = 0; i < std::min(open.size(), kPerRound); ++i) missing.push_back(open[i].split);
  return missing;
}

/// Measured rows to measure again at the sustained clock. A decode step after a prompt runs there as well as the prompt
/// does: what reading, the start of the kernel or its length bounds slows down in its own way. So a few at the sizes of
/// decode steps and, of matrix products, three of those that computing bounds.
std::vector<std::uint64_t> RowRefiner::sustained_rows(const Points& cool) const {
  std::set<std::uint64_t> chosen;
  if (cool.empty()) return {};
  for (const double wanted : {8.0, 64.0, 256.0}) {
    const auto apart = [&](const auto& at) { return std::abs(std::log(double(at.first) / wanted)); };
    const auto nearest =
        std::min_element(cool.begin(), cool.end(), [&](const auto& a, const auto& b) { return apart(a) < apart(b); });
    if (apart(*nearest) < std::log(2)) chosen.insert(nearest->first);
  }
  std::vector<std::uint64_t> bound;
  for (const auto& [rows, time] : cool)
    if (work_.clock_factor(double(rows), 1.1) > 1.05) bound.push_back(rows);
  if (multiplies_matrices(operation_.key)) {
    for (const std::size_t third : {1, 2, 3})
      if (bound.size() >= third) chosen.insert(bound[std::max<std::size_t>(third * bound.size() / 3, 1) - 1]);
  } else {
    chosen.insert(cool.rbegin()->first);
  }
  return {chosen.begin(), chosen.end()};
}

Round RowRefiner::next(const std::vector<oracle::Sample>& samples) const {
  const Failures failures(samples);
  Round round;
  if (failures.count() >= kHopeless && failures.count() == samples.size()) return round;
  Errors errors;
  const ClockRegime base = settings_.both_regimes ? ClockRegime::kCool : ClockRegime::kUnknown;
  const auto ask = [&](std::uint64_t rows, std::uint32_t routing, ClockRegime regime) {
    const oracle::SamplePoint point = point_at(rows, routing);
    if (!failures.blocks(point)) round.probes.push_back({point, regime});
  };
  std::optional<Prior> prior = near_;
  for (const std::uint32_t routing : settings_.routings) {
    const Points points = points_of(samples, routing, false);
    const oracle::RowWork& work = routing == 0 ? balanced_ : work_;
    const std::size_t before = round.probes.size();
    for (const std::uint64_t rows : curve_rows(points, prior, work, errors)) ask(rows, routing, base);
    if (round.probes.size() > before) break;  // the next routing's prior is this one's curve
    std::vector<WorkCurve::Point> curve;
    for (const auto& [rows, time] : points) curve.push_back({double(rows), time.seconds, time.kernels});
    prior = Prior{WorkCurve(std::move(curve), work), work_, true};
  }
  if (errors.count > 0) round.fold_error = errors.sum / static_cast<double>(errors.count);
  if (!round.probes.empty() || !settings_.both_regimes || operation_.binding == oracle::Binding::kCollective)
    return round;
  const std::uint32_t routing = settings_.routings.front();
  const Points hot = points_of(samples, routing, true);
  for (const std::uint64_t rows : sustained_rows(points_of(samples, routing, false)))
    if (!hot.contains(rows)) ask(rows, routing, ClockRegime::kSustained);
  return round;
}

}  // namespace dooly::profiling
