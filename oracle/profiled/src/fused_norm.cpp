#include "oracle_profiled/fused_norm.hpp"

#include <algorithm>
#include <set>

namespace dooly::oracle {
namespace {

constexpr double kRowsMoved = 4.0 / 5;  // reads the result and the stream, writes the stream and the norm

}  // namespace

WorkCurve fused_norm(const WorkCurve& norm, const WorkCurve& addition, const RowWork& work) {
  if (norm.empty() || addition.empty()) return WorkCurve({}, work);
  const double first = std::max(norm.points().front().x, addition.points().front().x);
  const double last = std::min(norm.points().back().x, addition.points().back().x);
  std::set<double> rows;
  for (const WorkCurve* part : {&norm, &addition})
    for (const WorkCurve::Point& p : part->points())
      if (p.x >= first && p.x <= last) rows.insert(p.x);
  const double start = norm.at(1).seconds, both = start + addition.at(1).seconds;
  std::vector<WorkCurve::Point> points;
  for (const double x : rows)
    points.push_back({x, start + kRowsMoved * std::max(0.0, norm.at(x).seconds + addition.at(x).seconds - both)});
  WorkCurve curve(std::move(points), work);
  curve.relabel(Origin::kInterpolated, std::max({norm.fold_error(), addition.fold_error(), kFusedNormError}));
  return curve;
}

}  // namespace dooly::oracle
