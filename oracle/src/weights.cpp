#include "oracle/weights.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace dooly::oracle {

namespace {

using Count = std::uint64_t;

WeightCount attention_weights(const ModelConfig& model, const AttentionShape& shape, std::uint32_t tp) {
  WeightCount weights;
  const Count hidden = model.hidden;
  const Count heads = shape.heads / tp;
  const Count kv_heads = kv_heads_per_gpu(shape, tp);
  const Count dim = shape.head_dim;
  const Count kv_projections = shape.value_is_key ? 1 : 2;
  weights.linear = hidden * heads * dim * 2 + hidden * kv_heads * dim * kv_projections;
  if (model.qkv_bias) weights.other += (heads + kv_projections * kv_heads) * dim;
  if (model.output_bias) weights.other += hidden;
  if (model.qk_norm == ModelConfig::QkNorm::kPerHead) weights.other += 2 * dim;
  if (model.qk_norm == ModelConfig::QkNorm::kAllHeads) weights.other += (heads + kv_heads) * dim;
  if (model.attention_sinks) weights.other += heads;
  return weights;
}

WeightCount latent_attention_weights(const ModelConfig& model, const AttentionShape& shape, std::uint32_t tp) {
  const MlaShape& mla = *model.mla;
  WeightCount weights;
  const Count hidden = model.hidden;
  const Count heads = shape.heads / tp;
  const Count query = heads * (mla.qk_nope_dim + mla.qk_rope_dim);
  if (mla.q_lora_rank > 0) {
    weights.linear += hidden * mla.q_lora_rank + mla.q_lora_rank * query;
    weights.other += mla.q_lora_rank;  // its norm
  } else {
    weights.linear += hidden * query;
  }
  weights.linear += hidden * (Count{mla.kv_lora_rank} + mla.qk_rope_dim);
  weights.other += mla.kv_lora_rank;
  weights.linear += mla.kv_lora_rank * heads * (mla.qk_nope_dim + mla.v_dim);
  weights.linear += heads * mla.v_dim * hidden;
  if (mla.index_heads > 0) {
    weights.linear += Count{mla.q_lora_rank} * mla.index_heads * mla.index_dim + hidden * mla.index_dim;
    weights.other += hidden * mla.index_heads + 2 * Count{mla.index_dim};
  }
  return weights;
}

Count mlp_matrices(const ModelConfig& model) { return model.gated_mlp ? 3 : 2; }

WeightCount mlp_weights(const ModelConfig& model, const LayerShape& layer, std::uint32_t tp) {
  WeightCount weights;
  const Count hidden = model.hidden;
  if (!layer.moe) {
    const Count width = layer.intermediate / tp;
    weights.linear = mlp_matrices(model) * hidden * width;
    if (model.mlp_bias) weights.other += (mlp_matrices(model) - 1) * width + hidden;
    return weights;
  }
  const MoeShape& moe = *model.moe;
  const Count width = moe.intermediate / tp;
  weights.experts = moe.experts * mlp_matrices(model) * hidden * width;
  weights.other += hidden * moe.experts;  // router
  if (moe.router_bias) weights.other += moe.experts;
  if (moe.expert_bias) weights.other += moe.experts * ((mlp_matrices(model) - 1) * width + hidden);
  weights.linear += mlp_matrices(model) * hidden * (moe.shared_intermediate / tp);
  if (moe.shared_gate) weights.other += hidden;
  return weights;
}

Count norm_weights(const ModelConfig& model) { return model.hidden * (model.norm_bias ? 2ull : 1ull); }

WeightCount all_weights(const ModelConfig& model, std::uint32_t tp, std::uint64_t vocabulary) {
  WeightCount weights;
  for (const LayerShape& layer : model.layer_classes()) {
    const WeightCount one = layer_weights(model, layer, tp);
    weights += {one.linear * layer.count, one.experts * layer.count, one.other * layer.count};
  }
  const Count hidden = model.hidden;
  weights.other += vocabulary * hidden + model.learned_positions * hidden + norm_weights(model);
  if (!model.tied_embeddings) weights.other += vocabulary * hidden;
  if (model.lm_head_bias) weights.other += vocabulary;
  return weights;
}

/// Once loaded, the engine multiplies the query and the output with per-head copies of the latent up-projection
/// (vLLM's W_UK and W_UV), which stay beside the original.
double absorbed_bytes(const ModelConfig& model, std::uint32_t tp, DType dtype) {
  if (!model.mla) return 0;
  double elements = 0;
  for (const LayerShape& layer : model.layer_classes()) {
    elements += double(layer.count) * model.mla->kv_lora_rank * (layer.attention.heads / tp) *
                (model.mla->qk_nope_dim + model.mla->v_dim);
  }
  return elements * bytes_per_element(dtype);
}

constexpr std::uint32_t kScaleBlock = 128;

void must_keep_scale_blocks(const ModelConfig& model, std::uint32_t tp, const char* what, std::uint32_t width) {
  if (!model.block_scales || width / tp % kScaleBlock == 0) return;
  throw OracleError(
      fmt::format("model {}: tensor parallel size {} leaves width {} of {} to a GPU, which its quantisation blocks of "
                  "{} do not divide",
                  model.name, tp, width / tp, what, kScaleBlock));
}

void must_divide(const ModelConfig& model, std::uint32_t tp, const char* what, std::uint32_t value) {
  if (value % tp == 0) return;
  throw OracleError(
      fmt::format("model {}: tensor parallel size {} does not divide {} {}", model.name, tp, what, value));
}

}  // namespace

WeightCount& WeightCount::operator+=(const WeightCount& more) {
  linear += more.linear;
  experts += more.experts;
  other += more.other;
  return *this;
}

std::uint32_t kv_heads_per_gpu(const AttentionShape& attention, std::uint32_t tensor_parallel) {
  return std::max<std::uint32_t>(1, attention.kv_heads / tensor_parallel);
}

std::uint32_t padded_vocabulary(const ModelConfig& model) { return (model.vocabulary + 63) / 64 * 64; }

void check_tensor_parallel(const ModelConfig& model, std::uint32_t tensor_parallel) {
  const std::uint32_t tp = tensor_parallel;
  if (tp == 0) throw OracleError(fmt::format("model {}: tensor parallel size must be at least 1, got 0", model.name));
  must_divide(model, tp, "the padded vocabulary", padded_vocabulary(model));
  for (const LayerShape& layer : model.layer_classes()) {
    must_divide(model, tp, "the number of attention heads", layer.attention.heads);
    const std::uint32_t kv_heads = layer.attention.kv_heads;
    if (kv_heads % tp != 0 && tp % kv_heads != 0) must_divide(model, tp, "the number of KV heads", kv_heads);
    if (layer.moe) continue;
    must_divide(model, tp, "the MLP width", layer.intermediate);
    must_keep_scale_blocks(model, tp, "the MLP", layer.intermediate);
  }
  if (!model.moe) return;
  must_divide(model, tp, "the width of an expert", model.moe->intermediate);
  must_divide(model, tp, "the width of the shared experts", model.moe->shared_intermediate);
  must_keep_scale_blocks(model, tp, "an expert", model.moe->intermediate);
  must_keep_scale_blocks(model, tp, "the shared experts", model.moe->shared_intermediate);
}

WeightCount layer_weights(const ModelConfig& model, const LayerShape& layer, std::uint32_t tensor_parallel) {
  WeightCount weights = model.mla ? latent_attention_weights(model, layer.attention, tensor_parallel)
                                  : attention_weights(model, layer.attention, tensor_parallel);
  weights += mlp_weights(model, layer, tensor_parallel);
  weights.other += model.norms_per_layer * norm_weights(model);
  return weights;
}

std::uint64_t parameter_count(const ModelConfig& model) { return all_weights(model, 1, model.vocabulary).total(); }

std::uint64_t weight_bytes_per_gpu(const ModelConfig& model, std::uint32_t tensor_parallel, DType dtype) {
  check_tensor_parallel(model, tensor_parallel);
  const WeightCount weights = all_weights(model, tensor_parallel, padded_vocabulary(model) / tensor_parallel);
  const double element = bytes_per_element(dtype);
  const double linear = double(weights.linear) * bytes_per_element(model.linear_format.value_or(dtype));
  const double experts = double(weights.experts) * bytes_per_element(model.expert_format.value_or(dtype));
  const double rotary = double(model.max_position) * model.rotary_dim * element;
  const double bytes =
      linear + experts + double(weights.other) * element + rotary + absorbed_bytes(model, tensor_parallel, dtype);
  return static_cast<std::uint64_t>(std::llround(bytes));
}

}  // namespace dooly::oracle
