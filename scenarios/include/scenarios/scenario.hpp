#pragma once

#include "scenarios/cluster.hpp"
#include "scenarios/pool.hpp"
#include "scenarios/workload.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dooly::scenario {

/// Host times of the engine process given in the scenario itself, seconds. Zero unless written.
struct HostTimes {
  double schedule_s = 0;
  double schedule_per_request_s = 0;  ///< per request in the batch
  double launch_full_s = 0;           ///< forward pass as a full CUDA graph (pure decode)
  double launch_piecewise_s = 0;      ///< piecewise CUDA graphs
  double launch_none_s = 0;           ///< kernel by kernel
  double launch_lead_s = 0;           ///< from the start of a launch to the first kernel
  double sample_s = 0;
  double update_s = 0;
  double update_per_request_s = 0;
  double delivery_s = 0;
  double delivery_per_request_s = 0;
  double input_s = 0;              ///< client to the engine's input thread, per request
  double input_per_token_s = 0;    ///< per prompt token
  double hashing_per_token_s = 0;  ///< block hashing per prompt token
  bool operator==(const HostTimes&) const = default;
};

/// The machine around the GPUs, handed to the oracle.
struct PlatformSpec {
  /// "default": the shipped platform of the pool's GPU. "none": no host times. Else a shipped name. Empty: `inline_times`.
  std::string host = "default";
  std::optional<HostTimes> inline_times;
  bool operator==(const PlatformSpec&) const = default;
};

/// FLOPs and bytes over the device's peaks.
struct RooflineOracleSpec {
  bool operator==(const RooflineOracleSpec&) const = default;
};

/// A step takes step + requests x per_request + tokens x per_token + context tokens x per_context_token. For tests.
struct FixedOracleSpec {
  double step_s = 0;
  double per_request_s = 0;
  double per_token_s = 0;
  double per_context_token_s = 0;
  bool operator==(const FixedOracleSpec&) const = default;
};

struct PluginOracleSpec {
  std::filesystem::path plugin;  ///< absolute
  std::string oracle;            ///< its name in the plug-in
  Options options;
  bool operator==(const PluginOracleSpec&) const = default;
};

/// Per operator the first of the scenario's list that answers wins.
using OracleSpec = std::variant<RooflineOracleSpec, FixedOracleSpec, PluginOracleSpec>;

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
  std::vector<FaultSpec> faults;    ///< empty for now
  OutputSpec output;
  bool operator==(const Scenario&) const = default;

  /// The limits that requests of `class_name` must meet; empty if none were set. Looks in this order: a limit written for
  /// that class; the limits of a workload whose class it is; the limits of the only workload.
  Slo slo_of(const std::string& class_name) const;
  /// Index of the pool where requests of a class enter (role mixed or prefill), or none. At most one pool serves a class.
  std::optional<std::size_t> entry_pool(const std::string& class_name) const;
  /// Index of the decode pool of a class, or none.
  std::optional<std::size_t> decode_pool(const std::string& class_name) const;
};

}  // namespace dooly::scenario
