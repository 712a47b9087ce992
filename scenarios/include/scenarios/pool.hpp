#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dooly::scenario {

/// Options of a policy, router or oracle: values as written in the file, checked against its own schema (see
/// Names::check_options).
using Options = std::map<std::string, std::string>;

struct ModelSpec {
  std::string config;  ///< a shipped name in the table's spelling, or the absolute path of a config.json
  bool is_path = false;
  std::string dtype = "auto";  ///< auto (config.json's) bfloat16 float16 float32
  bool operator==(const ModelSpec&) const = default;
};

/// GPUs of a replica = tp x pp x dp; ep splits experts over them and adds none. Only tp differs from 1 for now.
struct Parallel {
  std::uint64_t tp = 1;
  std::uint64_t pp = 1;
  std::uint64_t dp = 1;
  std::uint64_t ep = 1;
  std::uint64_t gpus() const { return tp * pp * dp; }
  bool operator==(const Parallel&) const = default;
};

/// vLLM's engine arguments under vLLM's names; defaults of `vllm serve` 0.26 on a GPU of at least 70 GB. An unset
/// optional is `default` in the file: whoever builds the engine derives the value from model and device.
struct EngineConfig {
  enum class SchedulingPolicy { kFcfs, kPriority };
  std::optional<std::uint64_t> max_model_len;  ///< unset: from config.json
  std::uint64_t max_num_batched_tokens = 8192;
  std::uint64_t max_num_seqs = 1024;
  std::uint64_t block_size = 16;
  std::string kv_cache_dtype = "auto";  ///< auto (the model's) bfloat16 float16 fp8 fp8_e4m3 fp8_e5m2
  double gpu_memory_utilization = 0.92;
  std::optional<std::uint64_t> num_gpu_blocks_override;  ///< unset (null): derived from memory
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  std::uint64_t long_prefill_token_threshold = 0;  ///< 0: none
  SchedulingPolicy scheduling_policy = SchedulingPolicy::kFcfs;
  bool scheduler_reserve_full_isl = true;
  double watermark = 0.0;
  bool async_scheduling = true;
  /// Unset: vLLM's list, cut at max_num_seqs. Empty: no CUDA graphs (--enforce-eager). Else ascending.
  std::optional<std::vector<std::uint64_t>> cudagraph_capture_sizes;
  std::string attention_backend = "default";
  bool operator==(const EngineConfig&) const = default;
};

struct SchedulerSpec {
  std::string policy = "vllm-v1";
  std::optional<std::filesystem::path> plugin;  ///< absolute; unset: built in
  Options options;
  bool grant_output_lengths = false;  ///< policies and routers see true output lengths
  bool operator==(const SchedulerSpec&) const = default;
};

struct RouterSpec {
  std::string policy = "least_requests";
  std::optional<std::filesystem::path> plugin;
  Options options;
  double signal_delay_s = 0;  ///< age of the load figures that the router sees
  bool operator==(const RouterSpec&) const = default;
};

/// A node group, or one node of it.
struct NodeRef {
  std::string group;
  std::optional<std::uint64_t> index;
  bool operator==(const NodeRef&) const = default;
};

/// Equal replicas behind one router. Prefill pools hand their requests to the decode pool that serves the class.
struct Pool {
  enum class Role { kMixed, kPrefill, kDecode };
  std::string name;
  Role role = Role::kMixed;
  std::vector<std::string> serves;  ///< request classes; empty: all
  ModelSpec model;
  std::uint64_t replicas = 1;
  std::vector<NodeRef> nodes;  ///< not empty; all of the same GPU. See placement.hpp for who sits where
  Parallel parallel;
  EngineConfig engine;
  SchedulerSpec scheduler;
  RouterSpec router;
  bool operator==(const Pool&) const = default;
};

/// How KV moves from prefill to decode replicas.
struct KvTransferSpec {
  enum class Granularity { kRequest };
  /// Who emits the first token: the prefill side as soon as it is computed, or the decode side after the transfer.
  enum class FirstToken { kPrefill, kDecode };
  Granularity granularity = Granularity::kRequest;
  FirstToken first_token = FirstToken::kDecode;
  bool operator==(const KvTransferSpec&) const = default;
};

}  // namespace dooly::scenario
