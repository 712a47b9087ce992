#include "validate/sensitivity.hpp"

#include "scaled_oracle.hpp"
#include "validate/error_figures.hpp"
#include "validate/measurement_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace dooly::validate {
namespace {

constexpr const char* kRequests = "requests";

/// Predicted means of what clients see, by series.
std::vector<std::pair<std::string, double>> predicted_means(const Validation& validation, Workbench& workbench) {
  const MeasurementFormat* format = find_measurement_format(validation.format);
  if (format == nullptr) throw std::logic_error("a loaded validation names an unknown format");
  std::vector<std::pair<std::string, double>> means;
  for (const Series& series : format->compare(validation, workbench).series)
    if (series.name.starts_with("requests.") && !series.measured.empty())
      means.emplace_back(series.name, error_figures(series).predicted_mean);
  return means;
}

}  // namespace

Sensitivity sensitivity(const Validation& given, Workbench& workbench, double change) {
  Validation validation = given;
  if (validation.wants(kRequests)) validation.checks = {kRequests};
  const auto base = predicted_means(validation, workbench);
  Sensitivity found{.change = change, .series = {}, .rows = {}};
  for (const auto& [name, mean] : base) found.series.push_back(name);
  const auto changed = [&](std::string_view term, double factor) {
    workbench.scale(std::string(term), factor);
    const auto means = predicted_means(validation, workbench);
    workbench.scale({}, 1);
    std::vector<double> changes;
    for (std::size_t i = 0; i < base.size(); ++i) changes.push_back(means.at(i).second / base[i].second - 1);
    return changes;
  };
  for (const std::string_view term : ScaledOracle::terms())
    found.rows.push_back({std::string(term), changed(term, 1 - change), changed(term, 1 + change)});
  return found;
}

std::string sensitivity_text(const Validation& validation, const Sensitivity& sensitivity) {
  const std::string sign = fmt::format("{:g}%", 100 * sensitivity.change);
  std::string text = fmt::format("{}: predicted means with one term {} smaller / larger\n  {:<18}",
                                 validation.file.string(), sign, "");
  for (const std::string& name : sensitivity.series) text += fmt::format("{:>20}", name);
  text += "\n";
  for (const SensitivityRow& row : sensitivity.rows) {
    text += fmt::format("  {:<18}", row.term);
    for (std::size_t i = 0; i < sensitivity.series.size(); ++i)
      text += fmt::format("{:>20}", fmt::format("{:+.2f}% / {:+.2f}%", 100 * row.less[i], 100 * row.more[i]));
    text += "\n";
  }
  return text;
}

}  // namespace dooly::validate
