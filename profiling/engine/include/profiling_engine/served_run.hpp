#pragma once

#include "replica_core/engine_config.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dooly::profiling {

/// A request of a workload. Its token ids are made from the seed, its prefix group and its place in the workload.
struct ServeRequest {
  static constexpr std::uint32_t kNoPrefix = 0xFFFFFFFFU;
  double arrival_s = 0;
  std::uint32_t prompt = 1;  ///< tokens
  std::uint32_t output = 1;
  std::int32_t priority = 0;
  std::uint32_t prefix_group = kNoPrefix;  ///< requests of a group begin with the same tokens
  std::uint32_t prefix_tokens = 0;
};

/// What happened to a request. Times: microseconds since the run's zero.
struct ServedRequest {
  ServeRequest request;
  std::int64_t sent_us = 0;       ///< when it was due (open loop), or its worker was free (closed loop)
  std::int64_t added_us = 0;      ///< the engine loop took it
  std::int64_t scheduled_us = 0;  ///< first scheduling call that gave it tokens
  std::vector<std::int64_t> token_us;
  std::vector<std::int64_t> tokens;  ///< ids of the output
  std::uint32_t cached = 0;          ///< prompt tokens found in the prefix cache at first
  std::uint32_t preemptions = 0;
  std::uint64_t first_call = 0;      ///< scheduling call before which it was added
};

/// What a request did in an iteration.
struct ServedPart {
  std::uint32_t request = 0;  ///< place in ServedRun::requests
  std::uint32_t tokens = 0, computed = 0;
};

/// One iteration that computed tokens. Times: microseconds since the run's zero.
struct ServedIteration {
  std::int64_t schedule_begin = 0, schedule_end = 0;
  std::int64_t launch_begin = 0, launch_end = 0;
  std::int64_t wait_begin = 0, wait_end = 0, update_end = 0;
  double device_gap_us = 0, device_us = 0;
  bool is_graph = false;  ///< launched as a captured CUDA graph
  std::uint32_t padded = 0, running = 0, waiting = 0, free_blocks = 0;
  std::uint64_t context_after = 0;
  std::vector<ServedPart> batch;
  std::vector<std::uint32_t> preempted;
};

/// Everything that a run showed.
struct ServedRun {
  std::string name, model, device, dtype, kernels, policy;
  replica::EngineConfig engine;
  std::uint32_t workers = 0;  ///< of a closed loop; 0: open
  std::int64_t zero_ns = 0;   ///< CLOCK_MONOTONIC at time 0
  std::vector<ServedRequest> requests;  ///< in order of arrival
  std::vector<ServedIteration> iterations;
  std::vector<std::string> decisions;  ///< rows of a decision log, see write_decisions
};

/// Writes FOLDER/engine.json and FOLDER/NAME.{run.json,requests.jsonl.gz,iterations.jsonl.gz}, in the format that
/// `dooly validate` calls vllm-h200-groundtruth. Throws ProfilingError naming the file that cannot be written.
void write_run(const ServedRun& run, const std::filesystem::path& folder);

/// Keys under which FOLDER/engine.json, which all runs of a folder are read by, differs from what write_run would
/// write; none where there is no such file. All of it (`engine.json`) where it cannot be read.
std::vector<std::string> engine_differences(const ServedRun& run, const std::filesystem::path& folder);

/// Writes FOLDER/NAME.decisions.jsonl.gz: the log that golden-replay reads, arrivals by scheduling call, so that the
/// simulator's engine can be asked for the same decisions.
void write_decisions(const ServedRun& run, const std::filesystem::path& folder);

}  // namespace dooly::profiling
