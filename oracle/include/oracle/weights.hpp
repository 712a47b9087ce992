#pragma once

#include "oracle/model_config.hpp"

#include <cstdint>

namespace dooly::oracle {

/// Number of weights by what decides their format.
struct WeightCount {
  std::uint64_t linear = 0;   ///< matrices of attention and dense MLPs
  std::uint64_t experts = 0;  ///< matrices of routed experts
  std::uint64_t other = 0;    ///< embeddings, output head, norms, biases, routers: never quantised
  std::uint64_t total() const { return linear + experts + other; }
  WeightCount& operator+=(const WeightCount& more);
};

/// Weights of one layer on one GPU of `tensor_parallel`. Column- and row-parallel matrices are split, KV heads are
/// replicated when there are fewer of them than GPUs, norms, routers and latent down-projections are on every GPU.
WeightCount layer_weights(const ModelConfig& model, const LayerShape& layer, std::uint32_t tensor_parallel);

/// All weights of the text model as published: unsplit, vocabulary not padded, tied embeddings counted once.
std::uint64_t parameter_count(const ModelConfig& model);

/// Bytes that the weights take on one GPU: split as above, vocabulary padded to a multiple of 64 and split, formats of
/// a quantised checkpoint, the table of rotary angles (max_position × rotary_dim) and, for latent attention, the
/// absorbed copies of the up-projections that the engine keeps.
std::uint64_t weight_bytes_per_gpu(const ModelConfig& model, std::uint32_t tensor_parallel, DType dtype);

/// Throws OracleError if the engine could not split the model so: heads, KV heads or MLP widths do not divide,
/// or blocks of a quantised checkpoint would be cut.
void check_tensor_parallel(const ModelConfig& model, std::uint32_t tensor_parallel);

std::uint32_t kv_heads_per_gpu(const AttentionShape& attention, std::uint32_t tensor_parallel);
std::uint32_t padded_vocabulary(const ModelConfig& model);

}  // namespace dooly::oracle
