#pragma once

#include "profiling_engine/kv_tensors.hpp"
#include "profiling_engine/model_dims.hpp"
#include "profiling_engine/model_numbers.hpp"
#include "profiling_engine/step_inputs.hpp"

#include "oracle/model_config.hpp"
#include "profiling_kernels/kernels.hpp"

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace dooly::profiling {

struct ModelSettings {
  at::ScalarType dtype = at::kBFloat16;
  c10::Device device = c10::DeviceType::CPU;
  enum class Weights : std::uint8_t {
    kRandom,  ///< uniform, of variance 1 / inputs, by `seed`: activations keep their size from layer to layer
    kZero  ///< for shapes alone: small ones are 0, those of 1 MiB and more are left as the system hands memory out,
           ///< which costs neither time nor, on a CPU, memory, but need not be 0
  } weights = Weights::kRandom;
  std::uint64_t seed = 0;
};

/// A decoder-only transformer that computes with `Kernels` alone: the operators of oracle::make_plan in its order, plus
/// the views between them. Weights are random. One tensor-parallel rank (dims.tensor_parallel), whose collectives are
/// those of torch_operators.hpp. Modules report to module_scope.hpp under the names that vLLM gives them.
class Model {
 public:
  /// `kernels` must outlive the model. Throws ProfilingError naming model and feature for what is not built in:
  /// sparse attention by an indexer, attention sinks, chunked attention, experts with biases or sigmoid routing,
  /// ungated MLPs, norms with biases, norms only behind a half, quantised weights.
  Model(const oracle::ModelConfig& config, const ModelNumbers& numbers, const ModelSettings& settings,
        const ModelDims& dims, Kernels& kernels);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  /// Final hidden states [tokens, hidden]; writes keys and values of the step's tokens.
  at::Tensor forward(const StepInputs& inputs, KvTensors& cache) const;
  /// Logits [rows, vocabulary] of hidden[rows].
  at::Tensor logits(const at::Tensor& hidden, const at::Tensor& rows) const;
  /// logits() and the greedy choice: int64 [rows].
  at::Tensor sample(const at::Tensor& hidden, const at::Tensor& rows) const;
  /// forward() and sample().
  at::Tensor step(const StepInputs& inputs, KvTensors& cache) const;
  /// Lets the kernels split attention's work ahead of the step, where all layers attend alike (as vLLM does).
  void plan_attention(StepInputs& inputs) const;

  /// Empty caches in the layout of this model's layers.
  KvTensors make_cache() const;
  const oracle::ModelConfig& config() const;
  const ModelDims& dims() const;
  c10::Device device() const;
  std::optional<LatentRules> latent_rules() const;  ///< how its steps are cut; none without latent attention
  std::uint32_t cache_groups() const;  ///< groups of layers, each with a block table
  std::size_t weight_bytes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Throws as Model's constructor does.
void check_is_built_in(const oracle::ModelConfig& config, std::uint32_t tensor_parallel);

}  // namespace dooly::profiling
