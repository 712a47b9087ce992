#pragma once

#include "profiling_sweep/reuse.hpp"

#include <cstdint>
#include <functional>
#include <set>
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

/// Back ends that there are kernels of.
std::vector<std::string> profile_backends();
/// Throws UsageError, which lists them, for another.
void require_backend(const std::string& name);

/// Operations that there are no kernels of.
struct Unmeasurable {
  oracle::OperatorKey key;
  std::string why;
};
/// Takes those out of the demands that `refusal` has a reason against, but for what is measured already. Each once, in
/// order of first need.
std::vector<Unmeasurable> take_unmeasurable(
    Demands& demands, const std::set<oracle::Signature>& measured,
    const std::function<std::string(const std::string& backend, const oracle::OperatorKey& key)>& refusal);

/// In the order of configs, then back ends, then degrees.
Demands demands_of(const DemandRequest& request);

}  // namespace dooly::profiling
