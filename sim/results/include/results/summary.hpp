#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replica_core/observer.hpp"
#include "results/distribution.hpp"

namespace dooly::results {

/// Limits of a class; unset: any value is good. Client's clock.
struct SloLimits {
  std::optional<double> ttft_s, tpot_s, e2e_s;
  bool is_empty() const { return !ttft_s && !tpot_s && !e2e_s; }
};

/// A file that the run read: its bare name (no directory) and the hash of its bytes.
struct InputIdentity {
  std::string name;
  std::string sha256;
};

struct ScenarioIdentity {
  std::string name;
  std::string sha256;  ///< of the resolved scenario with paths replaced by the hashes of the files
  std::uint64_t seed = 0;
  std::vector<InputIdentity> inputs;
};

struct PoolTotals {
  std::string name;
  std::string role;                   ///< mixed prefill decode
  std::uint64_t gpus_per_replica = 1;
  std::uint64_t kv_blocks = 0;        ///< usable ones of one replica
  std::vector<replica::ReplicaStats> replicas;
  std::string host = {};    ///< platform whose host times were used; empty: none
  std::string gpu = {};     ///< kind of GPU; empty: not known
  std::string model = {};   ///< name of the model; empty: not known
  std::string device = {};  ///< whose device times were used, in words: "store 'h200', else the roofline"; may be empty
};

struct NetworkTotals {
  std::uint64_t flows = 0;
  double bytes = 0;
  double flow_seconds = 0;  ///< sum of the flows' durations
  std::uint64_t max_concurrent = 0;
  std::uint64_t handed_over = 0;  ///< requests that went from a prefill to a decode replica
  double wait_seconds = 0;  ///< sum of their waits for blocks on the decode side
  double longest_wait_s = 0;
};

/// An invariant that was verified in this run, e.g. {"kv_blocks_balance", "64 replicas"}.
struct Check {
  std::string name;
  std::string detail;
};

/// What the simulation knows at the end beyond the finished requests.
struct RunTotals {
  ScenarioIdentity scenario;
  std::string version;
  double simulated_s = 0;  ///< time of the last event
  std::uint64_t submitted = 0;  ///< requests taken from the source; each must have been reported to the recorder
  std::vector<std::string> class_names;  ///< by index
  std::vector<PoolTotals> pools;
  NetworkTotals network;
  std::vector<Check> checks;
  std::vector<std::string> warnings;  ///< sentences for the user, e.g. that a warm trace met a cold cache
  std::optional<std::string> partial;  ///< why the run ended early: "interrupted", "stalled: …"
};

struct RequestCounts {
  std::uint64_t submitted = 0, completed = 0, rejected = 0, failed = 0, unfinished = 0;
  std::vector<std::pair<std::string, std::uint64_t>> reasons;  ///< of those not completed, by text
};

/// Of completed requests.
struct TokenCounts {
  std::uint64_t prompt = 0, cached = 0, output = 0;
};

/// Completed requests and their tokens over the time from the first arrival to the last token.
struct Throughput {
  double requests_per_s = 0, output_tokens_per_s = 0, total_tokens_per_s = 0;
};

/// Completed requests that meet every limit set.
struct Goodput {
  std::uint64_t requests = 0;
  double requests_per_s = 0;
  double share = 0;  ///< of those submitted
};

/// Figures of one class, or of all requests.
struct RequestFigures {
  RequestCounts requests;
  TokenCounts tokens;
  Throughput throughput;
  LatencyFigures latency;
  Goodput goodput;
};

struct ClassSummary {
  std::string name;
  SloLimits slo;
  RequestFigures figures;
};

/// Everything that summary.json says.
struct Summary {
  RunTotals run;
  RequestFigures all;
  std::vector<ClassSummary> classes;  ///< those that had requests
  double span_s = 0;  ///< first arrival to last token
  std::uint64_t gpus = 0;
  bool saturated = false;  ///< queueing grew all the time: latencies depend on the length of the run
};

}  // namespace dooly::results
