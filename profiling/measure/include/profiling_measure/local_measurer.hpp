#pragma once

#include "profiling_kernels/kernels.hpp"
#include "profiling_measure/measurer.hpp"
#include "profiling_measure/sampling.hpp"
#include "profiling_measure/timer.hpp"

#include <map>
#include <memory>
#include <string>

namespace dooly::profiling {

struct MeasureSettings {
  std::string device = "cpu";    ///< cpu or cuda
  std::string kernels = "torch"; ///< torch, or the folder of the vLLM wheel's libraries
  std::string attention = "fa3"; ///< back end of those libraries: fa3, fa2, triton or flashinfer
  SamplingLimits limits;
  bool check_drift = true;       ///< time a reference kernel now and then (GPUs only)
};

/// Measures on this machine's CPU or first GPU, in this process. Throws ProfilingError for a device or kernels that
/// cannot be had.
std::unique_ptr<Measurer> make_measurer(const MeasureSettings& settings);

/// The same with parts of one's own; `libraries` go into the environment.
std::unique_ptr<Measurer> make_measurer(std::unique_ptr<Timer> timer, std::unique_ptr<Kernels> kernels,
                                        const MeasureSettings& settings, std::map<std::string, std::string> libraries);

}  // namespace dooly::profiling
