#pragma once

#include "validate/measurement_format.hpp"

namespace dooly::validate {

/// Each in its own source file of this name.
const MeasurementFormat& aiconfigurator_silicon_format();
const MeasurementFormat& llmservingsim_format();
const MeasurementFormat& vllm_h200_groundtruth_format();

}  // namespace dooly::validate
