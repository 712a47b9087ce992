#pragma once

#include "oracle/cuda_graphs.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dooly::validate {

/// One request of a recorded run of the vLLM engine. Times are seconds since the run's zero.
struct LoggedRequest {
  std::string id;
  double sent_s = 0, received_s = 0, added_s = 0;
  double queued_engine_s = 0, scheduled_engine_s = 0, first_engine_s = 0, last_engine_s = 0;
  double first_s = 0, done_s = 0;  ///< at the client
  std::uint32_t prompt = 0, output = 0, cached = 0;
  std::uint64_t prefix_group = 0;
  std::uint32_t prefix_tokens = 0;
};

/// What a request did in an iteration.
struct LoggedEntry {
  std::uint32_t request = 0;  ///< place in EngineLog::requests
  std::uint32_t tokens = 0, computed = 0;
};

/// One iteration with its whole batch (in the order of the requests' places).
struct LoggedIteration {
  double schedule_begin_s = 0, schedule_end_s = 0, launch_begin_s = 0, launch_end_s = 0, sample_end_s = 0;
  double wait_begin_s = 0, wait_end_s = 0, update_end_s = 0;
  double gpu_gap_s = 0, gpu_s = 0;
  double gpu_end_s = 0;  ///< summed from gaps and times, set right wherever the host waited for a full graph
  oracle::GraphMode mode = oracle::GraphMode::kNone;
  std::uint32_t padded = 0, running = 0, waiting = 0, free_blocks = 0, tokens = 0, prefills = 0;
  std::uint64_t context_after = 0;
  std::vector<LoggedEntry> batch;
  std::vector<std::uint32_t> preempted;
  double launch_s() const { return launch_end_s - launch_begin_s; }
};

/// A run of `groundtruth-h200` (its README describes the files): PATH.requests.jsonl.gz, PATH.iterations.jsonl.gz,
/// PATH.run.json and, in the same folder, engine.json.
struct EngineLog {
  std::filesystem::path path;
  std::uint32_t clients = 0;  ///< of a closed loop; 0: open
  bool is_async = true;
  std::uint32_t blocks = 0;  ///< KV blocks as the engine counts them, the null block included
  std::optional<std::uint32_t> free_blocks;  ///< only so many were left to the run
  std::vector<LoggedRequest> requests;       ///< in the order in which they were sent
  std::vector<LoggedIteration> iterations;   ///< empty: not recorded

  /// Blocks that the run could use, the null block included.
  std::uint32_t usable_blocks() const { return free_blocks ? *free_blocks + 1 : blocks; }
};

/// Throws MissingData, or ValidationError naming file and line. `with_iterations`: they are needed.
EngineLog read_engine_log(const std::filesystem::path& path, bool with_iterations);

}  // namespace dooly::validate
