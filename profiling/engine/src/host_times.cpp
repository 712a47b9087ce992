#include "profiling_engine/host_times.hpp"

namespace dooly::profiling {

namespace {

/// Seconds of a mean.
struct Mean {
  double sum_us = 0;
  std::size_t count = 0;
  void add(std::int64_t us) {
    sum_us += static_cast<double>(us);
    ++count;
  }
  double seconds() const { return sum_us * 1e-6 / static_cast<double>(count); }
};

}  // namespace

std::map<std::string, double> host_times(const ServedRun& run) {
  if (run.iterations.empty()) return {};
  Mean schedule, update, launched, captured;
  for (const ServedIteration& each : run.iterations) {
    schedule.add(each.schedule_end - each.schedule_begin);
    (each.is_graph ? captured : launched).add(each.launch_end - each.launch_begin);
    update.add(each.update_end - each.wait_end);
  }
  std::map<std::string, double> times = {{"schedule", schedule.seconds()}, {"update", update.seconds()}};
  if (launched.count > 0) times["launch_none"] = launched.seconds();
  if (launched.count > 0 && run.device == "cpu") times["lead_none"] = launched.seconds();
  if (captured.count > 0) times["launch_full"] = captured.seconds();
  return times;
}

}  // namespace dooly::profiling
