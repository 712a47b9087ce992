#pragma once

#include "graph_inputs.hpp"
#include "graph_pool.hpp"
#include "profiling_engine/last_tokens.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdint>
#include <map>
#include <vector>

namespace dooly::profiling {

/// Decode steps of captured sizes: the model up to its final hidden states is one CUDA graph a size, as in vLLM's full
/// graphs; what comes before (inputs, attention's plan) and behind (logits, sampling) is launched. All on the current
/// stream, which must not be the default one.
class StepGraphs {
 public:
  /// Runs and captures a step of each size. `model` and `cache` must outlive the graphs.
  StepGraphs(const Model& model, KvTensors& cache, const StepSettings& settings,
             const std::vector<std::uint32_t>& sizes);
  bool has(std::uint32_t tokens) const { return graphs_.count(tokens) == 1; }
  /// Launches a step of `padded` tokens; the ids that were sampled, on the device.
  at::Tensor run(const std::vector<ScheduledPart>& parts, std::uint32_t padded, LastTokens& last);

 private:
  struct Captured {
    CudaGraph graph;
    StepInputs inputs;
    at::Tensor hidden;
  };
  void capture(std::uint32_t size);
  void plan(StepInputs& inputs) const;

  const Model& model_;
  KvTensors& cache_;
  CudaRuntime cuda_;
  c10::impl::VirtualGuardImpl guard_;
  CudaRuntime::Handle stream_;
  GraphInputs inputs_;
  GraphPool pool_;
  std::map<std::uint32_t, Captured> graphs_;  ///< last: ends before the memory that it works in
};

}  // namespace dooly::profiling
