#include "profile_program.hpp"

#ifdef DOOLY_HAS_MEASURER
#include "serve_model.hpp"
#include "study_model.hpp"

#include "cli_error.hpp"
#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/local_measurer.hpp"
#include "profiling_measure/runnable.hpp"
#include "profiling_taint/taint_error.hpp"
#endif

#include <csignal>
#include <memory>
#include <string>

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

/// In the words of the measurer that would be made, whose libraries and device are not asked.
std::string refusal_of(const std::string& device, const std::string& backend, const oracle::OperatorKey& key) {
  const std::unique_ptr<KernelClaims> kernels = device == "cpu" || backend == "torch"
                                                    ? std::unique_ptr<KernelClaims>(make_torch_kernels())
                                                    : make_vllm_claims(backend);
  std::string why;
  return can_run(key, *kernels, why) ? "" : why;
}

RefusalFunction refusal() { return refusal_of; }
#else
Devices devices() { return {}; }  // plans alone
ServeFunction server() { return {}; }
StepFunction student() { return {}; }
TraceFunction tracer() { return {}; }
RefusalFunction refusal() { return {}; }
#endif

}  // namespace
}  // namespace dooly::profiling

int main(int argc, char** argv) {
  using namespace dooly::profiling;
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond its limit is a write error, as on a full disk
  return run_profile(argc, argv, devices(), server(), tracer(), student(), refusal());
}
