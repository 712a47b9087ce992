#include "profile_program.hpp"

#ifdef DOOLY_HAS_MEASURER
#include "serve_model.hpp"
#include "study_model.hpp"

#include "cli_error.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/local_measurer.hpp"
#include "profiling_taint/taint_error.hpp"
#endif

#include <csignal>

namespace dooly::profiling {
namespace {

#ifdef DOOLY_HAS_MEASURER
MeasurerFactory factory_of(const char* device, const MeasurerChoice& choice) {
  MeasureSettings settings;
  settings.device = device;
  if (!choice.kernels.empty()) {
    settings.kernels = choice.kernels;
    settings.attention = choice.attention;
  }
  return [settings] { return make_measurer(settings); };
}

Devices devices() {
  return {{"cpu", [](const MeasurerChoice& choice) { return factory_of("cpu", choice); }},
          {"cuda", [](const MeasurerChoice& choice) { return factory_of("cuda", choice); }}};
}

ServeFunction server() { return serve_model; }
StepFunction student() { return study_model; }

TraceReport trace(const TraceRequestOptions& options) {
  try {
    return report_trace(options);
  } catch (const ProfilingError& error) {
    throw cli::UsageError(error.what());
  } catch (const TaintError& error) {
    throw cli::CannotFinish(error.what());
  }
}

TraceFunction tracer() { return trace; }
#else
Devices devices() { return {}; }  // plans alone
ServeFunction server() { return {}; }
StepFunction student() { return {}; }
TraceFunction tracer() { return {}; }
#endif

}  // namespace
}  // namespace dooly::profiling

int main(int argc, char** argv) {
  using namespace dooly::profiling;
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond its limit is a write error, as on a full disk
  return run_profile(argc, argv, devices(), server(), tracer(), student());
}
