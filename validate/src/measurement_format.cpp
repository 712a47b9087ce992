#include "validate/measurement_format.hpp"

#include "formats.hpp"

#include <array>

namespace dooly::validate {

/// Sorted by name.
std::span<const MeasurementFormat> measurement_formats() {
  static const std::array kFormats{aiconfigurator_silicon_format(), llmservingsim_format(),
                                   vllm_h200_groundtruth_format()};
  return kFormats;
}

const MeasurementFormat* find_measurement_format(std::string_view name) {
  for (const MeasurementFormat& format : measurement_formats())
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace dooly::validate
