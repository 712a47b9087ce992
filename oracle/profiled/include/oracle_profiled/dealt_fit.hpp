#pragma once

#include "oracle_profiled/dealt_kernel.hpp"

#include <limits>
#include <memory>
#include <vector>

namespace dooly::oracle {

/// Time of a launch as the sum of a DealtKernel's terms, with weights by non-negative least squares on relative errors,
/// for each of its variants; of the residencies that are tried the one counts that fits best.
class DealtFit {
 public:
  using Launch = DealtKernel::Launch;
  struct Point {
    Launch launch;
    double seconds = 0;
  };
  /// `others`: launches of another part; they count for variants that have few points. False where no variant has
  /// enough of both.
  bool fit(std::shared_ptr<const DealtKernel> kernel, const std::vector<Point>& points,
           const std::vector<Point>& others = {});
  /// Root of the mean squared relative error over the points of the fit.
  double error() const { return error_; }
  double seconds(Launch launch) const;

 private:
  struct Variant {
    bool is_fitted = false;
    DealtKernel::Terms weights{};
    int slots = 1;
    TileDealer dealer;
  };
  double try_residency(std::size_t variant, const std::vector<const Point*>& points,
                       const TileDealer::Residency& residency, double least);
  double fit_variant(std::size_t variant, const std::vector<const Point*>& points);
  static double sum(const DealtKernel::Terms& weights, const DealtKernel::Terms& terms);

  std::shared_ptr<const DealtKernel> kernel_;
  std::vector<Variant> variants_;
  std::size_t otherwise_ = 0;  ///< answers for variants without points
  double most_attended_ = std::numeric_limits<double>::infinity();  ///< with a window that no point went beyond
  double error_ = 0;
};

}  // namespace dooly::oracle
