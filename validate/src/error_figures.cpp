#include "validate/error_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dooly::validate {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? kUndefined : sum / static_cast<double>(values.size());
}

double relative(double predicted, double measured) { return measured == 0 ? kUndefined : predicted / measured - 1; }

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// Relative errors of the pairs whose measured side is not 0, ascending.
std::vector<double> pair_errors(const Series& series) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < series.measured.size(); ++i)
    if (series.measured[i] != 0) errors.push_back(relative(series.predicted[i], series.measured[i]));
  return sorted(std::move(errors));
}

struct NamedError {
  std::string_view name;
  double ErrorFigures::*figure;
};
constexpr std::array kErrors{
    NamedError{"mean", &ErrorFigures::mean},        NamedError{"p50", &ErrorFigures::p50},
    NamedError{"p90", &ErrorFigures::p90},          NamedError{"p99", &ErrorFigures::p99},
    NamedError{"mape", &ErrorFigures::mape},        NamedError{"median", &ErrorFigures::median},
    NamedError{"pair_p90", &ErrorFigures::pair_p90}};
constexpr auto kNames = [] {
  std::array<std::string_view, kErrors.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kErrors[i].name;
  return names;
}();

}  // namespace

double percentile(std::span<const double> sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - static_cast<double>(below));
}

ErrorFigures error_figures(const Series& series) {
  ErrorFigures figures{.count = series.measured.size()};
  figures.measured_mean = mean_of(series.measured);
  figures.predicted_mean = mean_of(series.predicted);
  figures.mean = relative(figures.predicted_mean, figures.measured_mean);
  figures.p50 = figures.p90 = figures.p99 = figures.mape = figures.median = figures.pair_p90 = kUndefined;
  if (figures.count == 0) return figures;
  const std::vector<double> measured = sorted(series.measured), predicted = sorted(series.predicted);
  const auto error_at = [&](double share) {
    return relative(percentile(predicted, share), percentile(measured, share));
  };
  figures.p50 = error_at(0.5);
  figures.p90 = error_at(0.9);
  figures.p99 = error_at(0.99);
  std::vector<double> errors = pair_errors(series);
  if (errors.empty()) return figures;
  figures.median = percentile(errors, 0.5);
  for (double& error : errors) error = std::abs(error);
  figures.mape = mean_of(errors);
  figures.pair_p90 = percentile(sorted(std::move(errors)), 0.9);
  return figures;
}

std::span<const std::string_view> error_names() { return kNames; }

std::optional<double> error_named(const ErrorFigures& figures, std::string_view name) {
  for (const NamedError& each : kErrors)
    if (each.name == name) return figures.*each.figure;
  return std::nullopt;
}

}  // namespace dooly::validate
