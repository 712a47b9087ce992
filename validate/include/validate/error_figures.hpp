#pragma once

#include "validate/comparison.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace dooly::validate {

/// Errors of one series, relative. Two kinds: of a figure of the whole (predicted figure ÷ measured figure − 1), and of
/// the pairs. Not a number where the measured side is 0 or nothing was compared.
struct ErrorFigures {
  std::size_t count = 0;
  double measured_mean = 0, predicted_mean = 0;
  double mean = 0;  ///< error of the mean
  double p50 = 0, p90 = 0, p99 = 0;  ///< errors of these percentiles
  double mape = 0;  ///< mean of |relative error| over the pairs
  double pair_p90 = 0;  ///< 90th percentile of |relative error| over the pairs
  double median = 0;  ///< median of the pairs' relative errors, with its sign
};

ErrorFigures error_figures(const Series& series);

/// Names of the errors as bounds have them: mean, p50, p90, p99, mape, median, pair_p90.
std::span<const std::string_view> error_names();
/// The error of that name. No value: there is none such.
std::optional<double> error_named(const ErrorFigures& figures, std::string_view name);

/// Linear interpolation between closest ranks (numpy's default). `sorted` ascending, not empty; `share` 0 to 1.
double percentile(std::span<const double> sorted, double share);

}  // namespace dooly::validate
