#pragma once

#include "oracle/sample.hpp"
#include "profiling_measure/measurer.hpp"
#include "profiling_sweep/operation.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace dooly::profiling {

/// Kernels of a few microseconds take one of several times, up to 0.25 us apart, for the life of a process (seen on an
/// H200: profiling/measure/README.md). What serves is such a process too, and nobody knows which: a short point is
/// measured in several, and the mean stays.
inline constexpr double kShortS = 5e-6;
inline constexpr unsigned kProcesses = 3;

/// A usable sample of a GPU that is this short.
bool is_short(const oracle::Sample& sample);
/// Processes that measured it.
unsigned processes_of(const oracle::Sample& sample);
inline bool wants_another_process(const oracle::Sample& sample) {
  return is_short(sample) && processes_of(sample) < kProcesses;
}
/// Of all processes so far and the one that measured `now`.
oracle::Sample mean_over_processes(const oracle::Sample& before, const oracle::Sample& now);

struct ShortPoint {
  const Operation* operation = nullptr;
  oracle::Sample* sample = nullptr;
};
/// Renews the measurer's process until no point is `wanting` (which lists those of wants_another_process()), has each
/// measured `again`, puts the mean in its sample's place and has it kept. Nothing from `again` ends the run. Points at
/// the cool clock come first. Does nothing where processes cannot be renewed.
void average_over_processes(Measurer& measurer, const std::function<std::vector<ShortPoint>()>& wanting,
                            const std::function<std::optional<oracle::Sample>(const ShortPoint&)>& again,
                            const std::function<void(const ShortPoint&)>& keep);

}  // namespace dooly::profiling
