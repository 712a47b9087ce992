#include "results/timing.hpp"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "json_writer.hpp"

namespace dooly::results {
namespace {

/// Of this program alone: ru_maxrss may be that of the process which started it. 0: not to be had.
std::uint64_t peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  return 0;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}
double rate(std::uint64_t count, double time_s) { return time_s > 0 ? static_cast<double>(count) / time_s : 0; }

}  // namespace

ProcessUsage process_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime), .peak_rss_bytes = peak_rss_bytes()};
}

double simulating_s(const Timing& timing) {
  for (const auto& [stage, time_s] : timing.stages_s)
    if (stage == "simulate") return time_s;
  return timing.wall_s;
}

std::string timing_json(const Timing& timing) {
  JsonWriter json;
  json.begin_object();
  json.member("wall_s", timing.wall_s).member("cpu_s", timing.cpu_s);
  json.member("requests", timing.requests).member("iterations", timing.iterations);
  json.member("requests_per_s", rate(timing.requests, timing.wall_s));
  json.member("requests_per_cpu_s", rate(timing.requests, timing.cpu_s));
  json.member("iterations_per_s", rate(timing.iterations, timing.wall_s));
  json.member("requests_per_simulating_s", rate(timing.requests, simulating_s(timing)));
  json.member("iterations_per_simulating_s", rate(timing.iterations, simulating_s(timing)));
  json.member("peak_rss_bytes", timing.peak_rss_bytes);
  json.key("stages_s").begin_object();
  for (const auto& [name, time_s] : timing.stages_s) json.member(name, time_s);
  return json.end_object().end_object().take();
}

}  // namespace dooly::results
