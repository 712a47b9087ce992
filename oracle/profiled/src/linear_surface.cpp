#include "oracle_profiled/linear_surface.hpp"

#include "key_dtype.hpp"
#include "oracle_profiled/measurement_error.hpp"

#include <cmath>
#include <set>

namespace dooly::oracle {
namespace {

/// The neighbours of `wanted` among ascending keys, and the weight of the upper one by logarithms.
template <typename Map>
struct Bracket {
  typename Map::const_iterator low, high;
  double part = 0;
  bool near = true, inside = true;

  Bracket(const Map& map, std::uint64_t wanted) {
    high = map.lower_bound(wanted);
    if (high == map.end()) --high;
    low = high->first > wanted && high != map.begin() ? std::prev(high) : high;
    const auto ratio = [&](std::uint64_t a) {
      return std::max(double(a), double(wanted)) / std::max(1.0, std::min(double(a), double(wanted)));
    };
    if (low != high) {
      part = std::log(double(wanted) / double(low->first)) / std::log(double(high->first) / double(low->first));
    } else {
      inside = low->first == wanted;
    }
    near = ratio(low->first) <= LinearSurface::kReach && ratio(high->first) <= LinearSurface::kReach;
  }
};

}  // namespace

RowWork linear_work(const OperatorKey& key, double k, double n, const Gpu& gpu, const Efficiency& efficiency) {
  const auto dtype = [&](std::size_t i) {
    return key_dtype(key.dtypes.empty() ? "bfloat16" : key.dtypes[std::min(i, key.dtypes.size() - 1)]);
  };
  RowWork work = row_work(gpu, efficiency, dtype(1), 2 * k * n, k * n * bytes_per_element(dtype(1)),
                          k * bytes_per_element(dtype(0)) + n * bytes_per_element(dtype(2)));
  work.tile = kLinearTile;
  return work;
}

LinearSurface::LinearSurface(const std::vector<SampleSet>& sets, const OperatorKey& like, const Gpu& gpu,
                             const Efficiency& efficiency)
    : like_(like),
      gpu_(gpu),
      efficiency_(efficiency) {
  for (const SampleSet& set : sets) {
    if (set.key.kind != like.kind || set.key.dtypes != like.dtypes || set.key.family != like.family ||
        set.key.dims.size() != 2 || set.key.dims[0] == 0 || set.key.dims[1] == 0)
      continue;
    Points& points = by_k_[set.key.dims[0]][set.key.dims[1]];
    for (const Sample& s : set.samples)
      if (s.status == SampleStatus::kOk && s.regime != ClockRegime::kSustained && s.median_s > 0)
        points.push_back({double(s.point[0]), s.median_s, 0, measurement_error(s)});
    if (points.empty()) by_k_[set.key.dims[0]].erase(set.key.dims[1]);
  }
  std::erase_if(by_k_, [](const auto& row) { return row.second.empty(); });
  for (const auto& [k, row] : by_k_) size_ += row.size();
  fold_error_ = measure_folds();
}

RowWork LinearSurface::work(double k, double n) const { return linear_work(like_, k, n, gpu_, efficiency_); }

std::vector<LinearSurface::Corner> LinearSurface::corners(std::uint64_t k, std::uint64_t n, const Points* skip,
                                                          bool& inside) const {
  inside = true;
  std::map<std::uint64_t, std::map<std::uint64_t, const Points*>> rows;
  for (const auto& [row_k, row] : by_k_)
    for (const auto& [row_n, points] : row)
      if (&points != skip) rows[row_k][row_n] = &points;
  if (rows.empty()) return {};
  const Bracket by_k(rows, k);
  inside = by_k.inside;
  if (!by_k.near) return {};
  std::vector<Corner> out;
  const auto add = [&](const auto& row, double weight) {
    if (weight <= 0) return true;
    const Bracket by_n(row->second, n);
    inside = inside && by_n.inside;
    if (!by_n.near) return false;
    out.push_back({row->first, by_n.low->first, weight * (1 - by_n.part), by_n.low->second});
    if (by_n.part > 0) out.push_back({row->first, by_n.high->first, weight * by_n.part, by_n.high->second});
    return true;
  };
  if (!add(by_k.low, 1 - by_k.part) || !add(by_k.high, by_k.part)) return {};
  return out;
}

WorkCurve LinearSurface::blend(const std::vector<Corner>& corners, std::uint64_t k, std::uint64_t n) const {
  std::set<double> rows;
  std::vector<WorkCurve> curves;
  for (const Corner& corner : corners) {
    curves.emplace_back(*corner.points, work(double(corner.k), double(corner.n)));
    for (const WorkCurve::Point& p : curves.back().points()) rows.insert(p.x);
  }
  const RowWork own = work(double(k), double(n));
  std::vector<WorkCurve::Point> points;
  for (const double m : rows) {
    double log_share = 0, error = 0;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      const Answer corner = curves[i].at(m);
      log_share += corners[i].weight * std::log(corner.seconds / curves[i].work().seconds(m));
      error += corners[i].weight * corner.error;
    }
    points.push_back({m, own.seconds(m) * std::exp(log_share), 0, error});
  }
  return WorkCurve(std::move(points), own);
}

std::optional<WorkCurve> LinearSurface::at(std::uint64_t k, std::uint64_t n) const {
  bool inside = true;
  const std::vector<Corner> near = corners(k, n, nullptr, inside);
  if (near.empty()) return std::nullopt;
  WorkCurve curve = blend(near, k, n);
  curve.relabel(inside ? Origin::kInterpolated : Origin::kExtrapolated,
                inside ? fold_error_ : std::max(fold_error_, 2 * kExtrapolationError));
  return curve;
}

double LinearSurface::measure_folds() const {
  if (size_ < 5) return kOnePointError;
  constexpr std::size_t kMost = 48;
  const std::size_t stride = std::max<std::size_t>(1, size_ / kMost);
  double sum = 0;
  std::size_t count = 0, index = 0;
  for (const auto& [k, row] : by_k_) {
    for (const auto& [n, points] : row) {
      if (index++ % stride != 0) continue;
      bool inside = true;
      const std::vector<Corner> near = corners(k, n, &points, inside);
      if (near.empty() || !inside) continue;
      const WorkCurve guess = blend(near, k, n);
      for (std::size_t i = 0; i < points.size(); i += 5) {
        sum += std::abs(guess.at(points[i].x).seconds / points[i].seconds - 1);
        ++count;
      }
    }
  }
  return count > 0 ? sum / double(count) : kOnePointError;
}

}  // namespace dooly::oracle
