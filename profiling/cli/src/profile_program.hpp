#pragma once

#include "serve_job.hpp"
#include "step_job.hpp"
#include "trace_job.hpp"

#include "profiling_sweep/worker_measurer.hpp"

#include <functional>
#include <map>
#include <string>

namespace dooly::profiling {

/// What a measurer is made of, as the command line says.
struct MeasurerChoice {
  std::string kernels;    ///< folder of the engine's kernel libraries; empty: LibTorch's own
  std::string attention;  ///< back end whose attention is measured
};

/// Devices that this build can measure on, by name: `cpu`, `cuda`. Makers run in the measuring process.
using Devices = std::map<std::string, std::function<MeasurerFactory(const MeasurerChoice&)>>;

/// Why there are no kernels of an operator, as the measurer of that device and back end would say; empty: there are.
/// Asked by dry runs, without a device. None: the build cannot tell.
using RefusalFunction =
    std::function<std::string(const std::string& device, const std::string& backend, const oracle::OperatorKey& key)>;

/// The program `dooly-profile`, which `dooly profile` starts: parses, runs, prints what went wrong. Returns the exit
/// status. Words and errors are those of `dooly profile`.
int run_profile(int argc, const char* const* argv, const Devices& devices, const ServeFunction& serve = {},
                const TraceFunction& trace = {}, const StepFunction& study = {}, const RefusalFunction& refusal = {});

}  // namespace dooly::profiling
