#pragma once

#include "profiling_engine/model.hpp"
#include "profiling_engine/served_run.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dooly::profiling {

struct ServeOptions {
  std::string name = "run";
  std::string device = "cpu";         ///< or "cuda"
  std::string dtype = "auto";         ///< auto (the checkpoint's), float32, bfloat16, float16
  std::string policy = "vllm-v1";     ///< of schedulers/
  /// Limits as the simulator takes them; `num_blocks` must be set. KV groups are made from the model.
  replica::EngineConfig engine;
  std::uint32_t block_size = 16;
  std::uint32_t workers = 0;          ///< closed loop: arrivals are ignored, so many requests are under way
  /// Sizes that decode batches are filled up to, and on a GPU captured as CUDA graphs if the kernels can be; empty:
/// not.
  std::vector<std::uint32_t> capture_sizes;
  std::uint64_t seed = 0;             ///< of weights and token ids
  /// Called when the engine's settings are known, before the model is built, with a run that has no results; may throw.
  std::function<void(const ServedRun&)> resolved;
  /// Called after each finished request with how many have; may be empty.
  std::function<void(std::size_t)> progress;
};

/// Builds the model with random weights and serves the workload in real time: each request is sent when it is due on
/// the steady clock, the policy of the simulator decides every batch, and the batches are computed. Synchronous or
/// asynchronous (two batches in flight) as options.engine says. Throws ProfilingError for what cannot be served:
/// unknown policy or device, requests out of order, or longer than the model length or the cache.
ServedRun serve(const ModelFile& model, std::span<const ServeRequest> workload, const ServeOptions& options,
                Kernels& kernels);

/// The same on LibTorch's kernels, with the logs written to `folder` (made if missing).
ServedRun serve(const std::filesystem::path& model, std::span<const ServeRequest> workload, const ServeOptions& options,
                const std::filesystem::path& folder);

/// Ids of the prompt of the request at `place` of a workload.
std::vector<std::int64_t> prompt_tokens(const ServeRequest& request, std::size_t place, std::uint64_t seed,
                                        std::uint64_t vocabulary);

/// Groups of layers, block sizes and admission caps of a model's KV cache, set in `config`.
void fit_to_model(replica::EngineConfig& config, const oracle::ModelConfig& model, std::uint32_t block_size);

}  // namespace dooly::profiling
