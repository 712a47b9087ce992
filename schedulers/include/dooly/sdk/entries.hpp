#pragma once

#include "dooly/sdk/options.hpp"
#include "dooly/sdk/policy.hpp"
#include "dooly/sdk/router.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

namespace dooly::oracle {
class LatencyOracle;  // "oracle/latency_oracle.hpp", part of the SDK
}

namespace dooly::sdk {

/// How a scenario finds and creates a policy: built in or from a plug-in, it is the same entry. The arrays and texts
/// that an entry points at are constants of the program or library that holds it.
struct PolicyEntry {
  const char* name = "";  ///< what scenarios write: letters, digits, '-' and '_'
  const char* help = "";  ///< one line
  std::span<const OptionSpec> options = {};
  /// One object per replica. May throw to refuse a combination of options; the message is shown to the user.
  std::unique_ptr<SchedulerPolicy> (*create)(const Options& options) = nullptr;
};

/// The same for a router; one object per pool.
struct RouterEntry {
  const char* name = "";
  const char* help = "";
  std::span<const OptionSpec> options = {};
  std::unique_ptr<RouterPolicy> (*create)(const Options& options) = nullptr;
};

/// What a latency oracle is asked about. The texts live until the factory returns.
struct OracleTarget {
  std::string_view model;  ///< shipped name, or the absolute path of a config.json
  std::string_view dtype;
  std::string_view gpu;
  std::uint32_t tensor_parallel = 1;
};

/// The same for a latency oracle; one object per pool.
struct OracleEntry {
  const char* name = "";
  const char* help = "";
  std::span<const OptionSpec> options = {};
  std::unique_ptr<oracle::LatencyOracle> (*create)(const Options& options, const OracleTarget& target) = nullptr;
};

/// Factory of a class that is constructed from its Options, or from nothing.
template <class Made>
std::unique_ptr<SchedulerPolicy> create_policy(const Options& options) {
  if constexpr (std::is_constructible_v<Made, const Options&>) {
    return std::make_unique<Made>(options);
  } else {
    return std::make_unique<Made>();
  }
}
template <class Made>
std::unique_ptr<RouterPolicy> create_router(const Options& options) {
  if constexpr (std::is_constructible_v<Made, const Options&>) {
    return std::make_unique<Made>(options);
  } else {
    return std::make_unique<Made>();
  }
}
template <class Made>
std::unique_ptr<oracle::LatencyOracle> create_oracle(const Options& options, const OracleTarget& target) {
  return std::make_unique<Made>(options, target);
}

}  // namespace dooly::sdk
