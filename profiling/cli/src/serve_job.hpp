#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dooly::profiling {

/// A request that the built-in engine is sent.
struct ServeJobRequest {
  double arrival_s = 0;
  std::uint32_t prompt = 1, output = 1;  ///< tokens
  std::int32_t priority = 0;
  std::uint32_t prefix_group = 0;   ///< requests of a group begin with the same tokens
  std::uint32_t prefix_tokens = 0;  ///< so many; 0: nothing is shared
};

/// What the built-in engine is to serve, and how; words and defaults are those of a scenario's `engine`.
struct ServeJob {
  std::filesystem::path config;  ///< config.json or its folder
  std::vector<ServeJobRequest> workload;
  std::filesystem::path out;  ///< folder of the logs
  std::string name = "run";   ///< NAME.run.json, …
  std::string device = "cpu", dtype = "auto", policy = "vllm-v1";
  std::string kernels = {};      ///< folder of the vLLM wheel's libraries (cuda); empty: LibTorch's own
  std::string backend = "fa3";   ///< attention of those libraries
  /// Sizes that decode batches are captured at; none: the engine's own where kernels can be captured.
  std::optional<std::vector<std::uint32_t>> capture_sizes;
  std::uint32_t max_num_batched_tokens = 8192, max_num_seqs = 1024, max_model_len = 0;  ///< 0: the model's
  std::uint32_t block_size = 16, num_blocks = 0;
  bool async_scheduling = true, prefix_caching = true;
  std::uint32_t workers = 0;  ///< closed loop of so many; 0: by arrival times
  std::uint64_t seed = 0;
  bool replaces_engine = false;        ///< else a folder's engine.json that differs is refused
  std::function<void()> begins = {};   ///< called when the model is about to be built; may be empty
};

/// What came of it.
struct ServeFigures {
  double duration_s = 0, mean_ttft_s = 0, mean_tpot_s = 0;
  std::size_t iterations = 0;
  /// Host times of a step under the names that `platform.host` of a scenario knows, seconds.
  std::map<std::string, double> host_times;
};

/// Serves in real time and writes the logs. Empty in a build without LibTorch.
using ServeFunction = std::function<ServeFigures(const ServeJob&)>;

}  // namespace dooly::profiling
