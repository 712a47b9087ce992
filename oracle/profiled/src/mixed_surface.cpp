#include "oracle_profiled/mixed_surface.hpp"

#include "nnls.hpp"
#include "oracle_profiled/node_grid.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace dooly::oracle {
namespace {

constexpr std::size_t kMostNodes = 4u << 20;

}  // namespace

void MixedSurface::fit(const std::vector<Point>& points, const AttentionRoofline& work, const Launches& uneven) {
  work_ = work;
  fold_error_ = 0;
  points_error_ = mean_error(points);
  if (points.size() >= 16) {  // one fold of eight: a full set would cost seconds
    std::vector<Point> kept, out;
    for (std::size_t i = 0; i < points.size(); ++i) (i % 8 == 3 ? out : kept).push_back(points[i]);
    build(kept, uneven);
    for (const Point& p : out) fold_error_ += std::abs(seconds(p) / p.seconds - 1);
    fold_error_ /= static_cast<double>(out.size());
  } else if (!points.empty()) {
    fold_error_ = kExtrapolationError;
  }
  build(points, uneven);
}

double MixedSurface::base(const Point& p) const {
  return tile_fit_.is_fitted() ? tile_fit_.seconds(p.launch) : weights_[0] * p.prefill_s + weights_[1] * p.decode_s;
}

void MixedSurface::fit_base(const std::vector<Point>& points, const Launches& uneven) {
  weights_[0] = weights_[1] = 1;
  tile_fit_.forget();
  if (points.size() >= 8) {
    std::vector<double> features, targets;
    for (const Point& p : points) {
      features.insert(features.end(), {p.prefill_s, p.decode_s});
      targets.push_back(p.seconds);
    }
    const std::vector<double> fitted = fit_non_negative(features, targets);
    if (fitted[0] > 0 && fitted[1] > 0) std::copy(fitted.begin(), fitted.end(), weights_);
  }
  Launches launches = uneven;
  double squares = 0;
  for (const Point& p : points) {
    launches.push_back({p.launch, p.seconds});
    squares += (base(p) / p.seconds - 1) * (base(p) / p.seconds - 1);
  }
  TileFit of_tiles;
  of_tiles.fit_kernel(work_, TileFit::Part::kMixed, launches);
  const bool is_better = points.empty() ? work_.dealt != nullptr
                                        : of_tiles.error() < std::sqrt(squares / static_cast<double>(points.size()));
  if (of_tiles.is_fitted() && is_better) tile_fit_ = of_tiles;
}

void MixedSurface::build(const std::vector<Point>& points, const Launches& uneven) {
  points_ = points.size();
  ratios_.clear();
  fit_base(points, uneven);
  if (points.empty()) {  // chunks alone may have told enough
    if (tile_fit_.is_fitted()) ratios_.assign(1, 1);
    return;
  }
  std::size_t size = 1;
  for (std::size_t d = 4; d-- > 0;) {
    std::set<double> places;
    for (const Point& p : points) places.insert(p.where[d]);
    if (places.size() == 1) places.insert(*places.begin() + 1);
    std::vector<double>& nodes = nodes_[d];
    nodes.assign(places.begin(), places.end());
    strides_[d] = size;
    size *= nodes.size();
    if (size > kMostNodes) return;  // no grid behind these points: the weights alone answer
  }
  if (tile_fit_.is_fitted()) {  // its steps are where the points differ; between them their residuals tell nothing
    ratios_.assign(1, 1);
    return;
  }
  std::vector<float> sums(size, 0), counts(size, 0);
  for (const Point& p : points) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < 4; ++d)
      at += strides_[d] * static_cast<std::size_t>(std::lower_bound(nodes_[d].begin(), nodes_[d].end(), p.where[d]) -
                                                   nodes_[d].begin());
    sums[at] += static_cast<float>(p.seconds / base(p));
    counts[at] += 1;
  }
  for (std::size_t i = 0; i < size; ++i) sums[i] = counts[i] > 0 ? sums[i] / counts[i] : -1;
  for (int pass = 0; pass < 4; ++pass) fill_gaps(sums);
  for (float& ratio : sums)
    if (ratio < 0) ratio = 1;
  ratios_ = std::move(sums);
}

/// A node without samples: mean over the directions of the line between its nearest known neighbours there, nearer
/// pairs weigh more.
void MixedSurface::fill_gaps(std::vector<float>& ratios) const {
  const std::vector<float> known = ratios;
  const auto gap = [](double a, double b) { return std::abs(std::log2((a + 1) / (b + 1))) + 1e-9; };
  for (std::size_t at = 0; at < known.size(); ++at) {
    if (known[at] >= 0) continue;
    double sum = 0, weights = 0;
    for (std::size_t d = 0; d < 4; ++d) {
      const std::vector<double>& nodes = nodes_[d];
      const std::size_t k = at / strides_[d] % nodes.size();
      const std::size_t first = at - k * strides_[d];
      std::size_t low = k, high = k;
      while (low > 0 && known[first + low * strides_[d]] < 0) --low;
      while (high + 1 < nodes.size() && known[first + high * strides_[d]] < 0) ++high;
      const float a = known[first + low * strides_[d]], b = known[first + high * strides_[d]];
      if (a < 0 && b < 0) continue;
      if (a >= 0 && b >= 0) {
        const double left = gap(nodes[k], nodes[low]), right = gap(nodes[high], nodes[k]);
        const double weight = 4 / (left + right);
        sum += weight * (a * right + b * left) / (left + right);
        weights += weight;
      } else {
        const double weight = 0.25 / gap(nodes[k], nodes[a >= 0 ? low : high]);
        sum += weight * (a >= 0 ? a : b);
        weights += weight;
      }
    }
    if (weights > 0) ratios[at] = static_cast<float>(sum / weights);
  }
}

double MixedSurface::seconds(const Point& point) const {
  const double parts = base(point);
  const std::array<double, 4>& where = point.where;
  if (ratios_.empty() || tile_fit_.is_fitted()) return parts;
  std::size_t corner = 0;
  std::array<double, 4> part;
  for (std::size_t d = 0; d < 4; ++d) {
    const std::size_t cell = cell_of(nodes_[d], where[d]);
    part[d] = std::clamp((where[d] - nodes_[d][cell]) / (nodes_[d][cell + 1] - nodes_[d][cell]), 0.0, 1.0);
    corner += cell * strides_[d];
  }
  double ratio = 0;
  for (unsigned mask = 0; mask < 16; ++mask) {
    double weight = 1;
    std::size_t at = corner;
    for (std::size_t d = 0; d < 4; ++d) {
      const bool upper = mask >> d & 1;
      weight *= upper ? part[d] : 1 - part[d];
      at += upper ? strides_[d] : 0;
    }
    if (weight > 0) ratio += weight * ratios_[at];
  }
  return parts * ratio;
}

bool MixedSurface::covers(const std::array<double, 4>& where) const {
  if (ratios_.empty() || points_ == 0) return false;
  for (std::size_t d = 0; d < 4; ++d)
    if (where[d] < nodes_[d].front() || where[d] > nodes_[d].back()) return false;
  return true;
}

}  // namespace dooly::oracle
