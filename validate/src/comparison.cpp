#include "validate/comparison.hpp"

#include <cmath>

namespace dooly::validate {

void Series::add(double measured_value, double predicted_value) {
  if (std::isnan(measured_value) || std::isnan(predicted_value)) return;
  measured.push_back(measured_value);
  predicted.push_back(predicted_value);
}

Series& Comparison::of(std::string_view name, Unit unit, Plot plot) {
  for (Series& each : series)
    if (each.name == name) return each;
  series.push_back({.name = std::string(name), .unit = unit, .plot = plot});
  return series.back();
}

Tally& Comparison::tally(std::string_view name) {
  for (Tally& each : tallies)
    if (each.name == name) return each;
  tallies.push_back({.name = std::string(name)});
  return tallies.back();
}

}  // namespace dooly::validate
