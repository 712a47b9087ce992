#pragma once

#include "validate/traffic.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dooly::validate {

/// A request's times in the measured engine, seconds of its monotonic clock.
struct EngineTimes {
  double queued_s = 0, scheduled_s = 0, first_s = 0, last_s = 0;
  std::uint32_t output = 0;
};

/// A run that LLMServingSim measured: what the engine was told, what was sent, and what became of it, row by row.
struct ServingRun {
  std::string model;
  std::uint32_t tensor_parallel = 1;
  std::uint64_t max_num_seqs = 0, max_num_batched_tokens = 0;
  Traffic traffic;
  std::vector<EngineTimes> times;
};

/// `directory`/{vllm_meta.json, vllm_requests.jsonl.gz} and, in `traces`, the workload that the meta file names with
/// the ending .blocks16.jsonl.gz. Wall-clock arrivals are laid on the engine's clock so that the quickest hand-over
/// takes no time. Throws MissingData, ValidationError.
ServingRun read_serving_run(const std::filesystem::path& directory, const std::filesystem::path& traces);

}  // namespace dooly::validate
