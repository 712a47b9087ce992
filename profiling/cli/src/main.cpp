#include "profile_program.hpp"

#ifdef DOOLY_HAS_MEASURER
#include "profiling_measure/local_measurer.hpp"
#endif

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
#else
Devices devices() { return {}; }  // plans alone
#endif

}  // namespace
}  // namespace dooly::profiling

int main(int argc, char** argv) { return dooly::profiling::run_profile(argc, argv, dooly::profiling::devices()); }
