#include "expert_curve.hpp"

#include "oracle/kernel_families.hpp"
#include "oracle_profiled/entry_work.hpp"
#include "oracle_profiled/measurement_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

namespace dooly::oracle {
namespace {

std::uint64_t nearest_routing(const std::vector<Sample>& samples, std::uint32_t wanted) {
  const auto distance = [&](const Sample& s) {
    return std::make_pair(std::llabs(static_cast<long long>(s.point[2]) - wanted), s.point[2]);
  };
  return std::min_element(samples.begin(), samples.end(),
                          [&](const Sample& a, const Sample& b) { return distance(a) < distance(b); })
      ->point[2];
}

/// Sweeps name kernels, and let the routing say how many experts are in use.
bool is_swept(const Sample& sample) { return sample.point[1] == 0 && kernels_mark(sample) != 0; }

}  // namespace

ExpertPoints expert_points(const OperatorKey& key, const std::vector<Sample>& samples, std::uint32_t routing,
                           const RowWork& work, double kernel_s) {
  ExpertPoints out;
  out.routing = routing;
  if (samples.empty()) return out;
  out.routing = nearest_routing(samples, routing);
  std::vector<const Sample*> chosen;
  for (const Sample& s : samples)
    if (s.point[2] == out.routing) chosen.push_back(&s);
  const bool is_balanced = out.routing == 0;
  out.are_in_tiles = is_balanced && balanced_work(work, key).in_expert_tiles &&
                     std::all_of(chosen.begin(), chosen.end(), [](const Sample* s) { return is_swept(*s); });
  const bool is_scaled = is_balanced && !out.are_in_tiles;
  std::map<double, std::vector<WorkCurve::Point>> by_tokens;
  for (const Sample* s : chosen) {
    const auto tokens = static_cast<double>(s->point[0]);
    if (s->point[1] == 0) {
      const double scale = is_scaled ? work.expert_tiles().random_over_balanced(tokens) : 1;
      out.points.push_back({tokens, s->median_s * scale, kernels_mark(*s), measurement_error(*s)});
    } else {
      by_tokens[tokens].push_back({static_cast<double>(s->point[1]), s->median_s, 0, measurement_error(*s)});
    }
  }
  RowWork experts_work;  // time grows with the experts that are read
  experts_work.fixed = kernel_s;
  experts_work.memory_per_row = 1e-6;
  const double local = key.dims.size() > 2 ? static_cast<double>(key.dims[2]) : 0;
  for (auto& [tokens, in_use] : by_tokens) {
    const WorkCurve curve(in_use, experts_work);
    const double expected = std::max(1.0, local * work.weight_share(tokens));
    const Answer answer = curve.at(std::clamp(expected, curve.points().front().x, curve.points().back().x));
    out.points.push_back({tokens, answer.seconds, 0, answer.error});
  }
  return out;
}

WorkCurve under_random_router(const WorkCurve& balanced, const RowWork& work) {
  constexpr double kSame = 1e-3;
  const ExpertTiles experts = work.expert_tiles();
  const auto seconds = [&](double tokens) { return balanced.at(tokens).seconds; };
  const std::vector<WorkCurve::Point>& measured = balanced.points();
  std::vector<double> places = experts.random_places(measured.back().x);
  for (const WorkCurve::Point& point : measured) places.push_back(point.x);
  std::vector<WorkCurve::Point> points;
  for (const double tokens : places) {
    const Answer even = balanced.at(tokens);
    const double time = experts.random_seconds(tokens, seconds);
    const bool is_same = std::abs(time / even.seconds - 1) < kSame;
    points.push_back({tokens, time, 1, even.error, is_same ? even.origin : Origin::kInterpolated});
  }
  WorkCurve curve(std::move(points), work);
  curve.state_error(balanced.fold_error());
  return curve;
}

}  // namespace dooly::oracle
