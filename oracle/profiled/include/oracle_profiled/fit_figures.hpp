#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"
#include "oracle/step_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dooly::oracle {

/// What decides how long an operator takes that comes without a plan: its request dimension says it.
Binding binding_of(const OperatorKey& key);

/// Raised whenever the regressors change what fit_figures() says: errors kept in stores are then computed again.
inline constexpr std::uint32_t kFitVersion = 3;

/// How well the samples of one signature predict each other.
struct FitFigures {
  std::size_t points = 0;   ///< usable samples
  double fold_error = 0;    ///< mean relative error of points left out; 0: too few to tell
};

/// Fits one signature's samples as a plan would. `gpu` gives the work between the points. Throws OracleError for a kind
/// of attention that nobody can fit.
FitFigures fit_figures(const OperatorKey& key, const std::vector<Sample>& samples, const Gpu& gpu);

}  // namespace dooly::oracle
