#include "profiling_engine/host_times.hpp"

namespace dooly::profiling {

std::map<std::string, double> host_times(const ServedRun& run) {
  if (run.iterations.empty()) return {};
  double schedule = 0, launch = 0, update = 0;
  for (const ServedIteration& each : run.iterations) {
    schedule += static_cast<double>(each.schedule_end - each.schedule_begin);
    launch += static_cast<double>(each.launch_end - each.launch_begin);
    update += static_cast<double>(each.update_end - each.wait_end);
  }
  const double scale = 1e-6 / static_cast<double>(run.iterations.size());
  return {{"schedule", schedule * scale},
          {"launch_none", launch * scale},
          {"lead_none", launch * scale},
          {"update", update * scale}};
}

}  // namespace dooly::profiling
