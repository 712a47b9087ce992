#pragma once

#include "oracle/environment.hpp"
#include "oracle/gpu.hpp"
#include "oracle/step_plan.hpp"

namespace dooly::profiling {

/// What a sweep measures: an entry of a step plan. Of names and counts nothing is used but for reports.
using Operation = oracle::PlanEntry;

/// An operation that comes from a trace: the work between measured points is that of the key.
Operation operation_of(const oracle::OperatorKey& key, oracle::Binding binding, const std::string& name = {});

/// Peaks of the device that an environment names. A device that is not in the GPU table (a CPU among them) gets round
/// figures: they shape curves between points, and no measurement is held against them (`is_known`).
struct SweepDevice {
  oracle::Gpu gpu;
  bool is_known = false;
};
SweepDevice device_of(const oracle::Environment& environment);

/// Matrix products run in tiles and, with enough rows, are bound by computing.
bool multiplies_matrices(const oracle::OperatorKey& key);

/// Attention back ends that run prefill chunks and decodes of a step in one launch, or in two that overlap; the others
/// need no mixed points.
bool launches_together(const oracle::OperatorKey& key);

}  // namespace dooly::profiling
