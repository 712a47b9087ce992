#pragma once

#include "oracle_profiled/answer.hpp"
#include "oracle_profiled/row_work.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dooly::oracle {

/// Time of an operator by one coordinate (tokens, rows, bytes).
/// - At a measured point: the measured time. Of matrix products as it is, since libraries choose a kernel for each size
///   and not always a better one (a served step of Llama-3.1-8B takes a quarter longer at 448 rows than at 464); of
///   others made monotone as long as the same kernels run: where measured times fall, neighbours are averaged. From one
///   kernel to the next they may fall (LibTorch looks 16 tokens up in 7.7 us, 17 in 1.6).
/// - Between two points: linear in the progress of the work between them, so a measured tile step stays a step and the
///   knee from memory to computing stays a knee. No curve is laid through the points. Rows count up to the next
///   multiple of `work.tile`, but not beyond the next point: between points a tile apart a step is where the tile
///   begins. Not so between points that name their kernels: sweeps look for steps, so there is none between two
///   (linears of 513 to 1,023 rows: 7 to 10 % too long by whole tiles, 3 to 5 % off without).
/// - Beyond them: the roofline, scaled to the nearest point; labelled extrapolated. Below one of several points never
///   more than at it.
/// One point is enough: all else is then extrapolated. Never negative; monotone but for measured points of matrix
/// products and where the kernels change.
class WorkCurve {
 public:
  struct Point {
    double x = 0;
    double seconds = 0;
    std::uint64_t kernels = 0;  ///< a mark of those that ran; 0: not known
    double error = 0;  ///< relative, of the measurement itself
    Origin origin = Origin::kMeasured;
  };
  WorkCurve() = default;
  /// Points in any order, equal x averaged; those of no positive time are left out. `work` must grow with x.
  WorkCurve(std::vector<Point> points, const RowWork& work);

  bool empty() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  const RowWork& work() const { return work_; }
  Answer at(double x) const;
  /// Mean relative error of points that were left out (up to 10 folds; the ends always stay); 0 for two points or less.
  double fold_error() const { return fold_error_; }
  /// What is stated between points: fold_error(), but no less than the points themselves have.
  double interpolation_error() const {
    return std::max({fold_error_, points_error_, points_.size() < 3 ? kExtrapolationError : 0});
  }
  /// Replaces the time of each point; those of one kernel stay monotone.
  template <typename Scale>
  void rescale(const Scale& seconds_of) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      measured_[i] = seconds_of(Point{points_[i].x, measured_[i]});
      points_[i].seconds = seconds_of(points_[i]);
    }
    for (std::size_t i = 1; i < points_.size(); ++i)
      if (points_[i].kernels == points_[i - 1].kernels)
        points_[i].seconds = std::max(points_[i].seconds, points_[i - 1].seconds);
  }
  /// For points that were not measured themselves: labels answers at best so and states at least this error.
  void relabel(Origin best, double error) {
    best_ = best;
    fold_error_ = std::max(fold_error_, error);
  }
  /// Instead of what leaving points out tells.
  void state_error(double error) { fold_error_ = error; }

 private:
  double between(std::size_t upper, double x) const;
  double measure_folds() const;

  std::vector<Point> points_;  // ascending x, times of one kernel not falling
  std::vector<double> measured_;  // times of the points before they were made monotone
  RowWork work_;
  double fold_error_ = 0;
  double points_error_ = 0;  // mean of the points' own
  Origin best_ = Origin::kMeasured;
};

/// Least-squares non-decreasing sequence (pool adjacent violators), in place.
void make_monotone(double* values, std::size_t count, std::size_t stride = 1);

}  // namespace dooly::oracle
