#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace dooly::oracle {

/// Attention time of prefill chunks and decodes in one call, from the times of the two parts alone: weights fitted by
/// non-negative least squares, times residuals interpolated over (query tokens, context, decodes, mean attended).
class MixedSurface {
 public:
  struct Point {
    std::array<double, 4> where;  ///< query tokens, context, decodes, attended
    double prefill_s, decode_s, seconds;
  };
  void fit(const std::vector<Point>& points);
  bool is_measured() const { return !ratios_.empty(); }
  std::size_t points() const { return points_; }
  double fold_error() const { return fold_error_; }
  double seconds(double prefill_s, double decode_s, const std::array<double, 4>& where) const;
  bool covers(const std::array<double, 4>& where) const;

 private:
  void build(const std::vector<Point>& points);
  void fill_gaps(std::vector<float>& ratios) const;

  double weights_[2] = {1, 1};
  std::array<std::vector<double>, 4> nodes_;
  std::array<std::size_t, 4> strides_{};
  std::vector<float> ratios_;
  std::size_t points_ = 0;
  double fold_error_ = 0;
};

}  // namespace dooly::oracle
