#include "oracle_profiled/prefill_surface.hpp"

#include "nnls.hpp"

#include <cmath>

namespace dooly::oracle {
namespace {

constexpr std::size_t kEnoughToFit = 8;

}  // namespace

PrefillSurface::Batch PrefillSurface::batch_of(double chunks, double query, double context) const {
  const double kv = work_.kv_tokens(query, context);
  return {chunks, query, context, chunks * query, chunks * work_.pairs(query, context), kv, chunks * kv};
}

double PrefillSurface::base(const Batch& b) const {
  if (tile_fit_.is_fitted())
    return std::max(tile_fit_.seconds({.chunks = b.chunks, .query = b.query, .context = b.context}), 1e-12);
  if (is_fitted_) {
    const double fitted = features_[0] + features_[1] * b.query_sum + features_[2] * b.pair_sum +
                          features_[3] * b.longest_kv + features_[4] * b.kv_sum;
    return std::max(fitted, 1e-12);
  }
  return std::max(work_.kernel_s + std::max(b.pair_sum * work_.pair_s, b.kv_sum * work_.token_s), 1e-12);
}

double PrefillSurface::base_at(const Grid& grid, double u, double query) const {
  return base(grid.by_context ? batch_of(1, query, u) : batch_of(u, query, 0));
}

void PrefillSurface::fit(const std::vector<Point>& points, const AttentionRoofline& work) {
  work_ = work;
  build(points);
  fold_error_ = measure_folds(points);
  points_error_ = mean_error(points);
}

void PrefillSurface::fit_base(const std::vector<Point>& points) {
  is_fitted_ = false;
  if (points.size() >= kEnoughToFit) {
    std::vector<double> features, targets;
    for (const Point& p : points) {
      const Batch b = batch_of(p.chunks, p.query, p.context);
      for (const double f : {1.0, b.query_sum, b.pair_sum, b.longest_kv, b.kv_sum}) features.push_back(f);
      targets.push_back(p.seconds);
    }
    const std::vector<double> fitted = fit_non_negative(features, targets);
    std::copy(fitted.begin(), fitted.end(), features_.begin());
    is_fitted_ = features_[2] > 0;  // without FLOPs the roofline is the better guide
  }
  std::vector<TileFit::Point> launches;
  double squares = 0;
  tile_fit_.forget();
  for (const Point& p : points) {
    launches.push_back({{.chunks = p.chunks, .query = p.query, .context = p.context}, p.seconds});
    const double off = base(batch_of(p.chunks, p.query, p.context)) / p.seconds - 1;
    squares += off * off;
  }
  TileFit tiles;
  tiles.fit_kernel(work_, TileFit::Part::kPrefills, launches);
  if (tiles.is_fitted() && (!is_fitted_ || tiles.error() < std::sqrt(squares / static_cast<double>(points.size()))))
    tile_fit_ = tiles;
}

void PrefillSurface::build(const std::vector<Point>& points) {
  points_ = points.size();
  fit_base(points);
  build_grid(by_chunks_, points, false);
  build_grid(by_context_, points, true);
}

void PrefillSurface::build_grid(Grid& grid, const std::vector<Point>& points, bool by_context) const {
  grid = {};
  grid.by_context = by_context;
  NodeGrid::Measured measured;
  for (const Point& p : points) {
    if (by_context ? p.chunks != 1 : p.context != 0) continue;
    measured[{by_context ? p.context : p.chunks, p.query}].add(p.seconds, p.error);
  }
  if (measured.empty()) return;
  grid.nodes = NodeGrid::build(
      measured, [&](double u, double x) { return base_at(grid, u, x); }, {}, {},
      tile_fit_.is_fitted() ? NodeGrid::Monotone::kNot : NodeGrid::Monotone::kBoth);
  for (const double u : grid.nodes.u)
    for (const double x : grid.nodes.x) grid.base.push_back(base_at(grid, u, x));
  for (std::size_t k = 0; k < grid.base.size(); ++k) grid.ratios.push_back(grid.nodes.seconds[k] / grid.base[k]);
  for (const double u : grid.nodes.u) grid.log_u.push_back(std::log2(u + 1));
  for (const double x : grid.nodes.x) grid.log_x.push_back(std::log2(x + 1));
}

/// Interpolated time ÷ base at (u, query) in the cell (i, j), which may be a node or an edge at the end.
double PrefillSurface::ratio_in_cell(const Grid& grid, double u, double query, std::size_t i, std::size_t j) const {
  const NodeGrid& nodes = grid.nodes;
  const std::size_t i2 = std::min(i + 1, nodes.u.size() - 1), j2 = std::min(j + 1, nodes.x.size() - 1);
  if (tile_fit_.is_fitted()) {
    const auto part = [](double x, double from, double to) { return to > from ? (x - from) / (to - from) : 0; };
    const auto of = [&](std::size_t r, std::size_t c) { return grid.ratios[nodes.at(r, c)]; };
    const double along = part(std::log2(query + 1), grid.log_x[j], grid.log_x[j2]);
    const double across = i2 > i ? part(std::log2(u + 1), grid.log_u[i], grid.log_u[i2]) : 0;
    const double low = of(i, j) + (of(i, j2) - of(i, j)) * along;
    if (!(across > 0)) return low;
    const double high = of(i2, j) + (of(i2, j2) - of(i2, j)) * along;
    return low + (high - low) * across;
  }
  const auto row = [&](std::size_t r) {
    const std::size_t a = nodes.at(r, j), b = nodes.at(r, j2);
    const double span = grid.base[b] - grid.base[a];
    const double part = span > 0 ? (base_at(grid, nodes.u[r], query) - grid.base[a]) / span : 0;
    return nodes.seconds[a] + (nodes.seconds[b] - nodes.seconds[a]) * std::clamp(part, 0.0, 1.0);
  };
  const double across = i2 > i ? (u - nodes.u[i]) / (nodes.u[i2] - nodes.u[i]) : 0;
  const double first = row(i);
  return (across > 0 ? first + (row(i2) - first) * across : first) / base_at(grid, u, query);
}

double PrefillSurface::ratio(const Grid& grid, double u, double query, Answer& label) const {
  const NodeGrid& nodes = grid.nodes;
  const double x = std::clamp(query, nodes.x.front(), nodes.x.back());
  const double v = std::clamp(u, nodes.u.front(), nodes.u.back());
  const std::size_t last_i = nodes.u.size() - 1, last_j = nodes.x.size() - 1;
  const std::size_t i = last_i == 0 ? 0 : cell_of(nodes.u, v), j = last_j == 0 ? 0 : cell_of(nodes.x, x);
  const std::size_t i2 = std::min(i + 1, last_i), j2 = std::min(j + 1, last_j);
  const double across = i2 > i ? (v - nodes.u[i]) / (nodes.u[i2] - nodes.u[i]) : 0;
  int used = 0;
  for (std::size_t r = i; r <= i2; ++r) {
    if (r == i ? across == 1 : across == 0) continue;
    for (std::size_t c = j; c <= j2; ++c) {
      if (c == j ? (j2 > j && x == nodes.x[j2]) : x == nodes.x[j]) continue;
      ++used;
      label.origin = worse(label.origin, nodes.origin[nodes.at(r, c)]);
      label.error = std::max(label.error, double{nodes.error[nodes.at(r, c)]});
    }
  }
  if (used > 1) label.origin = worse(label.origin, Origin::kInterpolated);
  if (x != query || v != u) {
    label.origin = worse(label.origin, Origin::kExtrapolated);
    label.error +=
        kExtrapolationError * (std::abs(std::log2((query + 1) / (x + 1))) + std::abs(std::log2((u + 1) / (v + 1))));
  }
  return ratio_in_cell(grid, v, x, i, j);
}

Answer PrefillSurface::at(const Batch& b) const {
  if (points_ == 0) return {base(b), Origin::kRoofline, kRooflineError};
  Answer answer{base(b), Origin::kMeasured, 0};
  const bool has_chunks = !by_chunks_.nodes.empty(), has_contexts = !by_context_.nodes.empty();
  if (has_chunks) answer.seconds *= ratio(by_chunks_, b.chunks, b.query, answer);
  const bool contexts_differ = has_contexts && by_context_.nodes.u.size() > 1;
  if (has_contexts && (!has_chunks || (contexts_differ && b.context > 0))) {
    answer.seconds *= ratio(by_context_, b.context, b.query, answer);
    Answer ignored;
    if (has_chunks) answer.seconds /= ratio(by_context_, 0, b.query, ignored);
    if (!has_chunks && b.chunks > 1) answer.origin = worse(answer.origin, Origin::kInterpolated);
  } else if (b.context > 0) {  // the work carries the context
    answer.origin = worse(answer.origin, Origin::kExtrapolated);
    answer.error += kExtrapolationError * std::log2((b.context + b.query) / b.query);
  }
  if (!has_chunks && !has_contexts) answer.origin = Origin::kExtrapolated;
  if (b.query_sum != b.chunks * b.query) answer.origin = worse(answer.origin, Origin::kInterpolated);
  if (answer.origin == Origin::kInterpolated) {
    answer.error = interpolation_error();
  } else if (answer.origin == Origin::kExtrapolated) {
    answer.error = std::min(
        1.0, (points_ > 1 ? std::max(interpolation_error(), kExtrapolationError) : kOnePointError) + answer.error);
  }
  return answer;
}

double PrefillSurface::measure_folds(const std::vector<Point>& points) const {
  if (points.size() < kEnoughToFit) return points.size() > 1 ? kExtrapolationError : 0;
  constexpr std::size_t kFolds = 5;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    PrefillSurface rest;
    rest.work_ = work_;
    std::vector<Point> kept;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (i % kFolds != fold) kept.push_back(points[i]);
    rest.build(kept);
    for (std::size_t i = fold; i < points.size(); i += kFolds) {
      const Answer answer = rest.at(batch_of(points[i].chunks, points[i].query, points[i].context));
      if (answer.origin > Origin::kInterpolated) continue;
      sum += std::abs(answer.seconds / points[i].seconds - 1);
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : kExtrapolationError;
}

}  // namespace dooly::oracle
