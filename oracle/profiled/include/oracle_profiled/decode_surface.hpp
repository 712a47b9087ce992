#pragma once

#include "oracle_profiled/attention_roofline.hpp"
#include "oracle_profiled/node_grid.hpp"
#include "oracle_profiled/tile_fit.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace dooly::oracle {

/// Attention time of decodes by (sequences, mean of the tokens they attend to). Nodes are the measured points, made a
/// full and monotone grid on top of a fit by non-negative least squares (constant, sequences, tokens attended,
/// longest); between nodes bilinear, that is linear in the work. Beyond the last nodes it goes on with the last slopes.
/// Where it is known how launches are cut into tiles, and that fits better, the fit is of tiles (TileFit), nodes lie at
/// every step of it, and only the tokens attended make it monotone: some numbers of sequences fill the device badly.
/// A window's tokens attended end at it; `window + 1` then stands for contexts beyond, which another kernel attends.
class DecodeSurface {
 public:
  struct Point {
    double decodes, attended, seconds;
    double error = 0;  ///< relative, of the measurement itself
  };
  /// Without points: the roofline.
  /// `uneven`: decodes of two lengths, which tell about tiles where points are few.
  void fit(const std::vector<Point>& points, const AttentionRoofline& work, double max_decodes, double max_attended,
           std::vector<TileFit::Point> uneven = {});

  bool is_measured() const { return points_ > 0; }
  std::size_t points() const { return points_; }
  double fold_error() const { return fold_error_; }
  /// What is stated between points: fold_error(), but no less than the points themselves have.
  double interpolation_error() const { return std::max(fold_error_, points_error_); }
  Answer at(double decodes, double attended) const;

  double seconds(double decodes, double attended) const {
    return segment(row_of(decodes), decodes, column_of(attended)).at(attended);
  }

 private:
  std::size_t row_of(double decodes) const { return rows_.cell_of(grid_.u, decodes); }
  std::size_t column_of(double attended) const { return columns_.cell_of(grid_.x, attended); }
  /// One cell at a fixed number of sequences: a straight line in the attended tokens.
  struct Segment {
    double from, low, slope;
    double at(double attended) const { return low + slope * (attended - from); }
  };
  Segment segment(std::size_t i, double decodes, std::size_t j) const {
    const double part = (decodes - grid_.u[i]) * inverse_u_[i];
    const double* below = &grid_.seconds[grid_.at(i, j)];
    const double* above = below + grid_.x.size();
    const double low = below[0] + (above[0] - below[0]) * part;
    const double high = below[1] + (above[1] - below[1]) * part;
    return {grid_.x[j], low, (high - low) * inverse_x_[j]};
  }

 public:
  /// Steps along the context with the sequences fixed: equal to seconds(), bit for bit; quick where attended tokens
  /// differ little from call to call.
  class Walk {
   public:
    Walk(const DecodeSurface& surface, double decodes, double attended)
        : surface_(&surface),
          decodes_(decodes),
          i_(surface.row_of(decodes)),
          j_(surface.column_of(attended)) {
      enter();
    }
    double seconds(double attended) {
      while (attended >= end_) {
        ++j_;
        enter();
      }
      while (attended < segment_.from && j_ > 0) {
        --j_;
        enter();
      }
      return segment_.at(attended);
    }

   private:
    void enter() {
      const std::vector<double>& x = surface_->grid_.x;
      segment_ = surface_->segment(i_, decodes_, j_);
      end_ = j_ + 2 < x.size() ? x[j_ + 1] : std::numeric_limits<double>::infinity();
    }
    const DecodeSurface* surface_;
    double decodes_;
    std::size_t i_, j_;
    Segment segment_;
    double end_;  ///< of the segment
  };

 private:
  double base(double decodes, double attended) const;
  void fit_base(const std::vector<Point>& points);
  double relative_error(const std::vector<Point>& points) const;  ///< of the base
  void build(const std::vector<Point>& points, std::vector<double> more_u, std::vector<double> more_x);
  double measure_folds(const std::vector<Point>& points) const;

  AttentionRoofline work_;
  std::vector<TileFit::Point> uneven_;  // of the fit alone
  std::array<double, 4> features_{};
  bool is_fitted_ = false;
  TileFit tile_fit_;
  NodeGrid grid_;  // at least two nodes each way
  CellIndex rows_, columns_;  // of its nodes
  std::vector<double> inverse_u_, inverse_x_;
  std::size_t points_ = 0;
  double fold_error_ = 0, points_error_ = 0;
};

}  // namespace dooly::oracle
