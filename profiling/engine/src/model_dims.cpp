#include "profiling_engine/model_dims.hpp"

#include "oracle/weights.hpp"

#include <algorithm>

namespace dooly::profiling {

ModelDims dims_of(const oracle::ModelConfig& model, std::uint32_t tensor_parallel, std::uint32_t max_positions,
                  std::uint32_t block_size, std::uint32_t blocks) {
  ModelDims dims;
  dims.hidden = model.hidden;
  dims.vocabulary = model.vocabulary;
  dims.padded_vocabulary = oracle::padded_vocabulary(model);
  const oracle::AttentionShape& attention = model.layers.front().attention;
  dims.heads = attention.heads;
  dims.kv_heads = attention.kv_heads;
  dims.head_dim = attention.head_dim;
  dims.rotary_dim = std::min(model.rotary_dim, attention.head_dim);
  if (model.mla) {
    dims.q_lora_rank = model.mla->q_lora_rank;
    dims.kv_lora_rank = model.mla->kv_lora_rank;
    dims.qk_nope_dim = model.mla->qk_nope_dim;
    dims.qk_rope_dim = model.mla->qk_rope_dim;
    dims.v_dim = model.mla->v_dim;
  }
  dims.positions = max_positions;
  for (const oracle::LayerShape& layer : model.layers) {
    if (!layer.moe) dims.intermediate = layer.intermediate;
  }
  if (model.moe) {
    dims.experts = model.moe->experts;
    dims.experts_per_token = model.moe->experts_per_token;
    dims.expert_intermediate = model.moe->intermediate;
    dims.shared_intermediate = model.moe->shared_intermediate;
  }
  dims.block_size = block_size;
  dims.blocks = blocks;
  dims.tensor_parallel = tensor_parallel;
  return dims;
}

}  // namespace dooly::profiling
