#pragma once

#include "oracle_profiled/tile_fit.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace dooly::oracle {

/// Attention time of prefill chunks and decodes in one call, from the times of the two parts alone: weights fitted by
/// non-negative least squares, times residuals interpolated over (query tokens, context, decodes, mean attended). Where
/// it is known how launches are cut into tiles, and that fits better, the fit is of tiles of the whole launch and takes
/// no residuals.
class MixedSurface {
 public:
  struct Point {
    std::array<double, 4> where;  ///< query tokens, context, decodes, attended
    FlashTiles::Launch launch;
    double prefill_s = 0, decode_s = 0, seconds = 0;
    double error = 0;  ///< relative, of the measurement itself
  };
  using Launches = std::vector<TileFit::Point>;
  /// `uneven`: with decodes of two lengths, and what else the fit of tiles alone is made of.
  void fit(const std::vector<Point>& points, const AttentionRoofline& work = {}, const Launches& uneven = {});
  bool is_measured() const { return !ratios_.empty(); }
  std::size_t points() const { return points_; }
  double fold_error() const { return fold_error_; }
  /// What is stated between points: fold_error(), but no less than the points themselves have.
  double interpolation_error() const { return std::max(fold_error_, points_error_); }
  /// `seconds` of the point is not read.
  double seconds(const Point& point) const;
  bool follows_tiles() const { return tile_fit_.is_fitted(); }
  bool covers(const std::array<double, 4>& where) const;

 private:
  double base(const Point& point) const;
  void fit_base(const std::vector<Point>& points, const Launches& uneven);
  void build(const std::vector<Point>& points, const Launches& uneven);
  void fill_gaps(std::vector<float>& ratios) const;

  AttentionRoofline work_;
  TileFit tile_fit_;
  double weights_[2] = {1, 1};
  std::array<std::vector<double>, 4> nodes_;
  std::array<std::size_t, 4> strides_{};
  std::vector<float> ratios_;
  std::size_t points_ = 0;
  double fold_error_ = 0, points_error_ = 0;
};

}  // namespace dooly::oracle
