#include "oracle_profiled/tile_fit.hpp"

#include "nnls.hpp"

#include <cmath>

namespace dooly::oracle {
namespace {

using Tiles = FlashTiles;

std::vector<Tiles::Term> terms_of(TileFit::Part part) {
  switch (part) {
    case TileFit::Part::kDecodes:
      return {Tiles::kLaunch,   Tiles::kWaves,      Tiles::kTiles,       Tiles::kBlocks,
              Tiles::kSchedule, Tiles::kDecodeRead, Tiles::kSplitKernel, Tiles::kSplits,
              Tiles::kCombine,  Tiles::kDeepest,    Tiles::kWindow,      Tiles::kWindowBlocks};
    case TileFit::Part::kRagged:
      return {Tiles::kLaunch,     Tiles::kWaves,        Tiles::kTiles,  Tiles::kBlocks,  Tiles::kSchedule,
              Tiles::kDecodeRead, Tiles::kSplitKernel,  Tiles::kSplits, Tiles::kCombine, Tiles::kDeepest,
              Tiles::kWindow,     Tiles::kWindowBlocks, Tiles::kLongest};
    case TileFit::Part::kPrefills:
      return {Tiles::kLaunch,    Tiles::kWaves,       Tiles::kTiles,       Tiles::kBlocks,  Tiles::kSchedule,
              Tiles::kChunkRead, Tiles::kSplitKernel, Tiles::kSplits,      Tiles::kCombine, Tiles::kDeepest,
              Tiles::kQueryRows, Tiles::kWindow,      Tiles::kWindowBlocks};
    case TileFit::Part::kMixed: break;
  }
  return {Tiles::kLaunch,     Tiles::kWaves,     Tiles::kTiles,       Tiles::kBlocks,      Tiles::kSchedule,
          Tiles::kDecodeRead, Tiles::kChunkRead, Tiles::kSplitKernel, Tiles::kSplits,      Tiles::kCombine,
          Tiles::kDeepest,    Tiles::kQueryRows, Tiles::kWindow,      Tiles::kWindowBlocks};
}

}  // namespace

void TileFit::fit_kernel(const AttentionRoofline& work, Part part, const std::vector<Point>& points,
                         const std::vector<Point>& others) {
  fit(work.tiles, part, points);
  if (!work.dealt) return;
  is_dealt_ = is_fitted_ = dealt_.fit(work.dealt, points, others);
  if (is_dealt_) error_ = dealt_.error();
}

void TileFit::fit(const std::optional<FlashTiles>& tiles, Part part, const std::vector<Point>& points) {
  is_fitted_ = is_dealt_ = false;
  const std::vector<Tiles::Term> fitted_terms = terms_of(part);
  if (!tiles || points.size() < 2 * fitted_terms.size()) return;
  tiles_ = *tiles;
  weights_ = {};
  most_attended_ = std::numeric_limits<double>::infinity();
  bool is_window_seen = false;
  is_plain_seen_ = tiles_.window() == 0;
  std::vector<double> features, targets;
  for (const Point& point : points) {
    const Tiles::Terms terms = tiles_.terms(point.launch);
    (terms[Tiles::kWindow] > 0 ? is_window_seen : is_plain_seen_) = true;
    for (const Tiles::Term term : fitted_terms) features.push_back(terms[term]);
    targets.push_back(point.seconds);
  }
  const std::vector<double> weights = fit_non_negative(features, targets);
  for (std::size_t i = 0; i < fitted_terms.size(); ++i) weights_[fitted_terms[i]] = weights[i];
  if (tiles_.window() > 0 && !is_window_seen) most_attended_ = tiles_.window();
  double squares = 0;
  for (const Point& point : points) {
    const double off = seconds(point.launch) / point.seconds - 1;
    squares += off * off;
  }
  error_ = std::sqrt(squares / static_cast<double>(points.size()));
  is_fitted_ = seconds({1, 1}) > 0;  // no launch is free
}

}  // namespace dooly::oracle
