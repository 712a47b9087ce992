#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dooly::results {

/// What a run cost on this machine: the one result that differs from run to run.
struct Timing {
  double wall_s = 0;  ///< of the whole process
  double cpu_s = 0;  ///< user and system time of the process
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t requests = 0;    ///< that ended
  std::uint64_t iterations = 0;  ///< of all replicas
  std::vector<std::pair<std::string, double>> stages_s = {};  ///< where the time goes, in order
};

struct ProcessUsage {
  double cpu_s = 0;
  std::uint64_t peak_rss_bytes = 0;
};
/// Of this process so far.
ProcessUsage process_usage();

/// Wall time of the stage `simulate` alone, without reading files before and writing them after; where stages are not
/// known, of everything.
double simulating_s(const Timing& timing);

/// The text of timing.json: wall_s, cpu_s, requests_per_s, requests_per_cpu_s, iterations_per_s, the same two
/// of simulating alone (requests_per_simulating_s, iterations_per_simulating_s), peak_rss_bytes, stages_s.
std::string timing_json(const Timing& timing);

}  // namespace dooly::results
