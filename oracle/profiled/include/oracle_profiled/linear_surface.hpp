#pragma once

#include "oracle/sample_set.hpp"
#include "oracle_profiled/work_curve.hpp"

#include <map>
#include <optional>
#include <vector>

namespace dooly::oracle {

/// Linears of one type and family at many (k, n): answers for those nobody measured. The share of the roofline that the
/// neighbours reach is interpolated in log k and log n; so the time follows the work m·k·n. Beyond the measured sizes,
/// up to `kReach` times, the share of the nearest is held.
class LinearSurface {
 public:
  static constexpr double kReach = 4;

  /// Takes the sets whose key is a linear with the dtypes and family of `like`; biases do not matter.
  LinearSurface(const std::vector<SampleSet>& sets, const OperatorKey& like, const Gpu& gpu,
                const Efficiency& efficiency);

  /// Labelled interpolated, or extrapolated beyond the measured sizes; empty if no neighbours are near enough.
  std::optional<WorkCurve> at(std::uint64_t k, std::uint64_t n) const;
  std::size_t sizes() const { return size_; }
  /// Mean relative error of sizes that were left out (up to 48 inside the grid).
  double fold_error() const { return fold_error_; }

 private:
  using Points = std::vector<WorkCurve::Point>;
  struct Corner {
    std::uint64_t k, n;
    double weight;
    const Points* points;
  };
  RowWork work(double k, double n) const;
  /// Empty: too far away. `skip` is left out.
  std::vector<Corner> corners(std::uint64_t k, std::uint64_t n, const Points* skip, bool& inside) const;
  WorkCurve blend(const std::vector<Corner>& corners, std::uint64_t k, std::uint64_t n) const;
  double measure_folds() const;

  OperatorKey like_;
  Gpu gpu_;
  Efficiency efficiency_;
  std::map<std::uint64_t, std::map<std::uint64_t, Points>> by_k_;
  std::size_t size_ = 0;
  double fold_error_ = 0;
};

/// Roofline of a linear layer from its key.
RowWork linear_work(const OperatorKey& key, double k, double n, const Gpu& gpu, const Efficiency& efficiency);

}  // namespace dooly::oracle
