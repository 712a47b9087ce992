#pragma once

#include "oracle/environment.hpp"
#include "profiling_comm/topology.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dooly::profiling {

/// The GPUs that CUDA shows, and what links them.
struct CommMachine {
  std::uint32_t gpus = 0;
  oracle::Environment environment;  ///< without topology
  LinkTexts links;

  /// Of collectives between the first `ranks` GPUs.
  oracle::Environment environment_of(std::uint32_t ranks) const;
};

std::string machine_text(const CommMachine& machine);
CommMachine parse_machine(std::string_view text);

/// Looks in a process of its own, so that this one stays free of CUDA. Throws SweepError in that process's words if a
/// library is missing or the GPUs differ. Whether there is a GPU at all: why_no_gpu().
CommMachine probe_machine();

}  // namespace dooly::profiling
