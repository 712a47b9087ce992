#pragma once

#include "oracle_profiled/attention_roofline.hpp"
#include "oracle_profiled/node_grid.hpp"
#include "oracle_profiled/tile_fit.hpp"

#include <algorithm>
#include <array>

namespace dooly::oracle {

/// Attention time of prefill chunks. A fit by non-negative least squares on (constant, query tokens, FLOPs, KV of the
/// longest, KV of all), times residuals over (chunks, query) without context and over (context, query) of one chunk;
/// residuals are interpolated as times, linear in the fitted work. Where it is known how launches are cut into tiles,
/// and that fits better, the fit is of tiles, and residuals are linear in the logarithms.
class PrefillSurface {
 public:
  struct Point {
    double chunks, query, context, seconds;
    double error = 0;  ///< relative, of the measurement itself
  };
  /// A batch: `chunks` equal chunks stand for it; sums are the batch's own.
  struct Batch {
    double chunks = 0, query = 0, context = 0;
    double query_sum = 0, pair_sum = 0, longest_kv = 0, kv_sum = 0;
  };
  /// Without points: the roofline.
  void fit(const std::vector<Point>& points, const AttentionRoofline& work);

  bool is_measured() const { return points_ > 0; }
  std::size_t points() const { return points_; }
  double fold_error() const { return fold_error_; }
  /// What is stated between points: fold_error(), but no less than the points themselves have.
  double interpolation_error() const { return std::max(fold_error_, points_error_); }
  Answer at(const Batch& batch) const;
  Batch batch_of(double chunks, double query, double context) const;

 private:
  struct Grid {  // u: chunks or contexts; x: query
    NodeGrid nodes;
    std::vector<double> base;
    std::vector<double> ratios, log_u, log_x;  ///< times ÷ base; log2(1 + node)
    bool by_context = false;
  };
  double base(const Batch& batch) const;
  double base_at(const Grid& grid, double u, double query) const;
  void fit_base(const std::vector<Point>& points);
  void build(const std::vector<Point>& points);
  double ratio_in_cell(const Grid& grid, double u, double query, std::size_t i, std::size_t j) const;
  void build_grid(Grid& grid, const std::vector<Point>& points, bool by_context) const;
  /// Interpolated time ÷ base at (u, query); held beyond the nodes.
  double ratio(const Grid& grid, double u, double query, Answer& label) const;
  double measure_folds(const std::vector<Point>& points) const;

  AttentionRoofline work_;
  std::array<double, 5> features_{};
  bool is_fitted_ = false;
  TileFit tile_fit_;
  Grid by_chunks_, by_context_;
  std::size_t points_ = 0;
  double fold_error_ = 0, points_error_ = 0;
};

}  // namespace dooly::oracle
