#pragma once

#include "scenarios/cluster.hpp"
#include "scenarios/pool.hpp"
#include "scenarios/workload.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dooly::scenario {

/// Host times of the engine's process, handed to the oracle.
struct PlatformSpec {
  /// "default": the shipped platform of the pool's GPU. "none": all zero. Else a shipped name. Empty: see `terms`.
  std::string host = "default";
  /// Times given in the scenario itself, seconds by term (the oracle's names, told by Names::platform_terms); the terms
  /// not given are zero.
  std::map<std::string, double> terms;
  std::string base = {};  ///< whose the other terms are, a name as of `host`; empty: they are zero
  bool operator==(const PlatformSpec&) const = default;
};

/// FLOPs and bytes over the device's peaks.
struct RooflineOracleSpec {
  bool operator==(const RooflineOracleSpec&) const = default;
};

/// A step takes base + tokens x per_token + context after the step x per_1000_context / 1000. For tests.
struct FixedOracleSpec {
  double base_s = 0;
  double per_token_s = 0;
  double per_1000_context_s = 0;
  bool operator==(const FixedOracleSpec&) const = default;
};

/// Measured operators of a store; what it lacks is asked of the next in the list.
struct ProfiledOracleSpec {
  std::string store;  ///< as written: a store directory, a portable file, or a name
  std::vector<std::filesystem::path> files;  ///< what that is: one directory or file, or all portable files of the name
  std::string environment;  ///< only environments whose id or description holds this; empty: all of the pool's GPU
  std::string routing = "balanced";  ///< of experts' samples: balanced, power_law_1.01, power_law_1.2
  bool operator==(const ProfiledOracleSpec&) const = default;
};

struct PluginOracleSpec {
  std::filesystem::path plugin;  ///< absolute
  std::string oracle;  ///< its name in the plug-in
  Options options;
  bool operator==(const PluginOracleSpec&) const = default;
};

/// Per operator the first of the scenario's list that answers wins.
using OracleSpec = std::variant<RooflineOracleSpec, FixedOracleSpec, ProfiledOracleSpec, PluginOracleSpec>;

/// Which files a run writes beside summary.json.
struct OutputSpec {
  bool requests_csv = true;
  bool iterations_csv = false;
  bool decisions_jsonl = false;
  bool operator==(const OutputSpec&) const = default;
};

/// A whole experiment, every default filled in and every cross-check passed: it can run.
struct Scenario {
  std::string name;
  std::uint64_t seed = 0;
  std::vector<WorkloadSpec> workloads;  ///< not empty, names unique
  Cluster cluster;
  std::vector<Pool> pools;  ///< not empty, names unique
  KvTransferSpec kv_transfer;
  PlatformSpec platform;
  std::vector<OracleSpec> oracles;  ///< not empty
  std::vector<FaultSpec> faults;  ///< empty for now
  OutputSpec output;
  bool operator==(const Scenario&) const = default;

  /// The limits that requests of `class_name` must meet; empty if none were set. Looks in this order: a limit written
  /// for that class; the limits of a workload whose class it is; the limits of the only workload.
  Slo slo_of(const std::string& class_name) const;
  /// Index of the pool where requests of a class enter (role mixed or prefill), or none. At most one pool serves a
  /// class.
  std::optional<std::size_t> entry_pool(const std::string& class_name) const;
  /// Index of the decode pool of a class, or none.
  std::optional<std::size_t> decode_pool(const std::string& class_name) const;
};

}  // namespace dooly::scenario
