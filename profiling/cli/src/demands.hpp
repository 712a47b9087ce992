#pragma once

#include "profiling_sweep/reuse.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dooly::profiling {

/// Which models, run how.
struct DemandRequest {
  std::vector<std::string> configs;  ///< shipped names, paths to a config.json or to a folder that holds it
  std::vector<std::string> backends = {"fa3"};
  std::vector<std::uint32_t> tensor_parallel = {1};
  std::string dtype = "auto";
};

struct Demands {
  std::vector<Demand> all;
  /// What cannot be run so (heads that do not divide, operators nobody plans), with the reason.
  std::vector<std::pair<std::string, std::string>> refused;
};

/// Back ends of plans.
std::vector<std::string> profile_backends();

/// In the order of configs, then back ends, then degrees.
Demands demands_of(const DemandRequest& request);

}  // namespace dooly::profiling
