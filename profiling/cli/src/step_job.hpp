#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Decode steps of the built-in engine that are to be taken apart.
struct StepJob {
  struct Batch {
    std::uint32_t requests = 1, context = 0;  ///< tokens in the cache before, of each request
  };
  std::filesystem::path config;  ///< config.json or its folder
  std::string kernels;           ///< folder of the vLLM wheel's libraries
  std::string backend = "fa3";   ///< attention of those libraries
  std::vector<Batch> batches;
  std::uint32_t block_size = 16, num_blocks = 0, max_model_len = 0;  ///< 0: as many as it takes; the model's
};

/// Hears of each batch: for people, and a line of JSON.
using StepListener = std::function<void(const std::string& text, const std::string& json)>;
/// Empty in a build without LibTorch.
using StepFunction = std::function<void(const StepJob&, const StepListener&)>;

}  // namespace dooly::profiling
