#include "oracle_profiled/decode_surface.hpp"

#include "nnls.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

constexpr std::size_t kEnoughToFit = 6;

NodeGrid::Measured averaged(const std::vector<DecodeSurface::Point>& points) {
  NodeGrid::Measured out;
  for (const auto& p : points) out[{p.decodes, p.attended}].add(p.seconds, p.error);
  return out;
}

/// Every number of sequences may need a wave more; many differ little from the next.
std::vector<double> counts_at_steps(double most) {
  std::vector<double> out{most};
  for (double n = 1; n <= most; n += n < 256 ? 1 : 8) out.push_back(n);
  return out;
}

/// The last token of a block and the first of the next; of long contexts blocks here and there.
std::vector<double> tokens_at_steps(double most) {
  constexpr double kBlock = FlashTiles::kBlockTokens;
  std::vector<double> out{16, 64};
  for (double x = kBlock; x <= most; x += x < 32 * kBlock ? kBlock : x < 256 * kBlock ? 4 * kBlock : x) {
    out.push_back(x);
    if (x <= 8 * kBlock) out.push_back(x + 1);
  }
  std::erase_if(out, [&](double x) { return x > most; });
  out.push_back(most);
  return out;
}

std::vector<double> inverse_widths(const std::vector<double>& nodes) {
  std::vector<double> out;
  for (std::size_t i = 1; i < nodes.size(); ++i) out.push_back(1 / (nodes[i] - nodes[i - 1]));
  return out;
}

}  // namespace

double DecodeSurface::base(double n, double a) const {
  if (tile_fit_.is_fitted()) return std::max(tile_fit_.seconds({n, std::max(a, 1.0)}), 1e-12);
  if (!is_fitted_) return std::max(work_.decode_s(n, a), 1e-12);
  return std::max(features_[0] + features_[1] * n + features_[2] * n * a + features_[3] * a, 1e-12);
}

void DecodeSurface::fit(const std::vector<Point>& points, const AttentionRoofline& work, double max_decodes,
                        double max_attended, std::vector<TileFit::Point> uneven) {
  work_ = work;
  uneven_ = std::move(uneven);
  fit_base(points);
  double last_u = max_decodes, last_x = max_attended;
  for (const Point& p : points) {
    last_u = std::max(last_u, p.decodes);
    last_x = std::max(last_x, p.attended);
  }
  std::vector<double> more_u{last_u}, more_x{last_x};
  if (tile_fit_.is_fitted()) {
    more_u = counts_at_steps(last_u);
    more_x = tokens_at_steps(last_x);
    if (work.window > 0 && !work.dealt) std::erase_if(more_x, [&](double x) { return x > work.window + 1; });
  }
  build(points, std::move(more_u), std::move(more_x));
  fold_error_ = measure_folds(points);
  points_error_ = mean_error(points);
  uneven_.clear();
}

void DecodeSurface::fit_base(const std::vector<Point>& points) {
  points_ = points.size();
  is_fitted_ = false;
  if (points.size() >= kEnoughToFit) {
    std::vector<double> features, targets;
    for (const Point& p : points) {
      for (const double f : {1.0, p.decodes, p.decodes * p.attended, p.attended}) features.push_back(f);
      targets.push_back(p.seconds);
    }
    const std::vector<double> fitted = fit_non_negative(features, targets);
    std::copy(fitted.begin(), fitted.end(), features_.begin());
    // No term that grows with the context would make every longer one free.
    is_fitted_ = features_[2] + features_[3] > 0;
  }
  std::vector<TileFit::Point> launches;
  for (const Point& p : points) launches.push_back({{p.decodes, p.attended}, p.seconds});
  TileFit tiles;
  tiles.fit_kernel(work_, TileFit::Part::kDecodes, launches, uneven_);
  tile_fit_.forget();
  if (tiles.is_fitted() && (!is_fitted_ || tiles.error() < relative_error(points))) tile_fit_ = tiles;
}

double DecodeSurface::relative_error(const std::vector<Point>& points) const {
  double squares = 0;
  for (const Point& p : points) {
    const double off = base(p.decodes, p.attended) / p.seconds - 1;
    squares += off * off;
  }
  return std::sqrt(squares / static_cast<double>(points.size()));
}

void DecodeSurface::build(const std::vector<Point>& points, std::vector<double> more_u, std::vector<double> more_x) {
  NodeGrid::Measured measured = averaged(points);
  const bool roofline = measured.empty();
  if (roofline) measured[{1, 1}].add(base(1, 1), kRooflineError);
  for (const auto& [where, time] : measured) {
    more_u.push_back(where.first);
    more_x.push_back(where.second);
  }
  const double last_u = *std::max_element(more_u.begin(), more_u.end());
  const double last_x = *std::max_element(more_x.begin(), more_x.end());
  more_u.insert(more_u.end(), {1, std::max(last_u, 2.0)});
  more_x.insert(more_x.end(), {0, std::max(last_x, 2.0)});
  grid_ = NodeGrid::build(
      measured, [&](double n, double a) { return base(n, a); }, more_u, more_x,
      tile_fit_.is_fitted() ? NodeGrid::Monotone::kInX : NodeGrid::Monotone::kBoth);
  if (roofline) std::fill(grid_.origin.begin(), grid_.origin.end(), Origin::kRoofline);
  rows_ = CellIndex(grid_.u);
  columns_ = CellIndex(grid_.x);
  inverse_u_ = inverse_widths(grid_.u);
  inverse_x_ = inverse_widths(grid_.x);
}

Answer DecodeSurface::at(double n, double a) const {
  const std::size_t i = row_of(n), j = column_of(a);
  Answer answer{segment(i, n, j).at(a), Origin::kMeasured, 0};
  int used = 0;
  double beyond = 0;
  for (const std::size_t row : {i, i + 1}) {
    if (row == i ? n == grid_.u[i + 1] : n == grid_.u[i]) continue;
    for (const std::size_t column : {j, j + 1}) {
      if (column == j ? a == grid_.x[j + 1] : a == grid_.x[j]) continue;
      ++used;
      answer.origin = worse(answer.origin, grid_.origin[grid_.at(row, column)]);
      beyond = std::max(beyond, double{grid_.error[grid_.at(row, column)]});
    }
  }
  if (n > grid_.u.back() || a > grid_.x.back()) answer.origin = worse(answer.origin, Origin::kExtrapolated);
  if (used > 1) answer.origin = worse(answer.origin, Origin::kInterpolated);
  switch (answer.origin) {
    case Origin::kMeasured: answer.error = beyond; break;
    case Origin::kInterpolated: answer.error = interpolation_error(); break;
    case Origin::kExtrapolated:
      answer.error =
          std::min(1.0, (points_ > 1 ? std::max(interpolation_error(), kExtrapolationError) : kOnePointError) + beyond);
      break;
    case Origin::kRoofline: answer.error = kRooflineError; break;
  }
  return answer;
}

double DecodeSurface::measure_folds(const std::vector<Point>& points) const {
  if (points.size() < kEnoughToFit) return points.size() > 1 ? kExtrapolationError : 0;
  constexpr std::size_t kFolds = 5;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    DecodeSurface rest;
    rest.work_ = work_;
    rest.uneven_ = uneven_;
    std::vector<Point> kept;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (i % kFolds != fold) kept.push_back(points[i]);
    std::vector<double> more_u, more_x;  // a base of steps is asked at the points themselves
    for (std::size_t i = fold; i < points.size() && tile_fit_.is_fitted(); i += kFolds) {
      more_u.push_back(points[i].decodes);
      more_x.push_back(points[i].attended);
    }
    rest.fit_base(kept);
    rest.build(kept, std::move(more_u), std::move(more_x));
    for (std::size_t i = fold; i < points.size(); i += kFolds) {
      if (rest.at(points[i].decodes, points[i].attended).origin > Origin::kInterpolated) continue;
      sum += std::abs(rest.seconds(points[i].decodes, points[i].attended) / points[i].seconds - 1);
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : kExtrapolationError;
}

}  // namespace dooly::oracle
