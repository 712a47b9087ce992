#pragma once

#include "validate/comparison.hpp"
#include "validate/validation.hpp"
#include "validate/workbench.hpp"

#include <span>
#include <string_view>

namespace dooly::validate {

/// A name and what it means, for listings and messages.
struct Named {
  std::string_view name;
  std::string_view meaning;
};

/// What a comparison of a format can hold, as bounds name it: a series, or a tally of differences.
struct Quantity {
  std::string_view name;   ///< `*` stands for any text: groups that the measurement itself names
  std::string_view check;  ///< of whose results it is; empty: of every run
  bool is_tally = false;
};
/// Whether `name` is that quantity's, or one of those that its `*` stand for.
bool is_named(const Quantity& quantity, std::string_view name);

/// A kind of measurement: what can be compared with it, and how. One source file each; listed in
/// measurement_format.cpp.
struct MeasurementFormat {
  std::string_view name;
  std::string_view meaning;
  std::span<const Named> checks;   ///< what a file may ask for under `checks`; all of them unless it says
  std::span<const Named> options;  ///< further keys of `measurement`, plain text
  std::span<const Quantity> quantities;  ///< all that bounds may name
  /// Reads the measurement, predicts, pairs. Throws MissingData before any work is done, ValidationError for content
  /// that is not of the format.
  Comparison (*compare)(const Validation& validation, Workbench& workbench);
};

std::span<const MeasurementFormat> measurement_formats();
/// Null: there is none of that name.
const MeasurementFormat* find_measurement_format(std::string_view name);

}  // namespace dooly::validate
