#pragma once

#include "oracle_profiled/attention_roofline.hpp"
#include "oracle_profiled/dealt_fit.hpp"
#include "oracle_profiled/flash_tiles.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace dooly::oracle {

/// Time of a launch as the sum of FlashTiles' terms, with weights by non-negative least squares on relative errors; for
/// other kernels a DealtFit.
class TileFit {
 public:
  using Point = DealtFit::Point;
  /// Which part of attention the points are: the terms that are fitted follow from it.
  enum class Part : std::uint8_t { kDecodes, kRagged, kPrefills, kMixed };

  /// Without tiles, or with fewer points than terms, there is no fit.
  void fit(const std::optional<FlashTiles>& tiles, Part part, const std::vector<Point>& points);
  /// By the rules of whatever kernel the operator is known to run.
  /// `others`: launches of other parts, as of DealtFit.
  void fit_kernel(const AttentionRoofline& work, Part part, const std::vector<Point>& points,
                  const std::vector<Point>& others = {});
  void forget() { is_fitted_ = false; }
  bool is_fitted() const { return is_fitted_; }
  /// Root of the mean squared relative error over the points of the fit.
  double error() const { return error_; }
  double seconds(FlashTiles::Launch launch) const {
    if (is_dealt_) return dealt_.seconds(launch);
    launch.attended = std::min(launch.attended, most_attended_);
    launch.long_attended = std::min(launch.long_attended, most_attended_);
    const FlashTiles::Terms terms = tiles_.terms(launch);
    double sum = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) sum += weights_[i] * terms[i];
    return sum;
  }

 private:
  DealtFit dealt_;
  bool is_dealt_ = false;
  FlashTiles tiles_;
  FlashTiles::Terms weights_{};
  /// Decodes beyond a window take what those that fill it take, where no point of the fit went beyond: what the kernel
  /// of windows costs would be unknown.
  double most_attended_ = std::numeric_limits<double>::infinity();
  bool is_fitted_ = false;
  double error_ = 0;
};

}  // namespace dooly::oracle
