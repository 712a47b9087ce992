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

bool is_named(const Quantity& quantity, std::string_view name) {
  std::string_view pattern = quantity.name;
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (std::size_t taken = 0; taken <= name.size(); ++taken)
    if (is_named({pattern, {}}, name.substr(taken))) return true;
  return false;
}

const MeasurementFormat* find_measurement_format(std::string_view name) {
  for (const MeasurementFormat& format : measurement_formats())
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace dooly::validate
