#pragma once

#include "profiling_engine/served_run.hpp"

#include <map>
#include <string>

namespace dooly::profiling {

/// What a step of a served run costs its host, seconds: means over the iterations, under the names of platform terms.
/// schedule, update; launch_none (input tensors, block tables and handing the step over) and, of captured steps,
/// launch_full; on a processor lead_none equals launch_none, since it starts when it has been handed the step. Empty
/// without iterations.
std::map<std::string, double> host_times(const ServedRun& run);

}  // namespace dooly::profiling
