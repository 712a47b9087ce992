#pragma once

#include "oracle_profiled/attention_model.hpp"
#include "oracle_profiled/work_curve.hpp"
#include "profiling_sweep/operation.hpp"

#include <map>
#include <optional>
#include <vector>

namespace dooly::profiling {

/// One signature's samples as the production code fits them, asked by sample points.
class SignatureFit {
 public:
  SignatureFit(const Operation& operation, const std::vector<oracle::Sample>& samples, const oracle::Gpu& gpu);
  /// At the cool clock. Of experts in a routing that was not measured: the nearest one's.
  double seconds(const oracle::SamplePoint& point) const;
  std::size_t points() const { return points_; }
  double fold_error() const;

 private:
  std::map<std::uint32_t, oracle::WorkCurve> curves_;  // by routing
  std::optional<oracle::AttentionModel> attention_;
  std::size_t points_ = 0;
};

}  // namespace dooly::profiling
