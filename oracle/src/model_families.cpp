#include "model_families.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

// Field defaults and layer rules of each family: its configuration class in the transformers library (v4.57 and v5) and
// its modelling code; where the two leave a choice, what vLLM 0.26 does.

namespace dooly::oracle {

namespace {

using Fields = ConfigFields;

void no_bias(const Fields&, ModelConfig&, LayerRules&) {}

void llama(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.qkv_bias = model.output_bias = fields.flag_or("attention_bias", false) || fields.flag_or("bias", false);
  model.mlp_bias = fields.flag_or("mlp_bias", false);
}

void qwen1(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  model.qkv_bias = true;  // `no_bias` speaks of the other projections
  model.output_bias = model.mlp_bias = !fields.flag_or("no_bias", true);
  rules.dense_intermediate /= 2;  // the file counts both halves
}

void qwen2(const Fields&, ModelConfig& model, LayerRules&) { model.qkv_bias = true; }

void mimo(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.qkv_bias = fields.flag_or("attention_bias", true);
}

void qwen3(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.qkv_bias = model.output_bias = fields.flag_or("attention_bias", false);
  model.qk_norm = ModelConfig::QkNorm::kPerHead;
}

/// Experts in every `decoder_sparse_step`-th layer except those of `mlp_only_layers`.
void qwen_experts(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  MoeShape moe;
  moe.experts = fields.size({"num_experts"}, kMaxExperts);
  moe.experts_per_token = fields.size({"num_experts_per_tok"}, kMaxExperts);
  moe.intermediate = fields.size({"moe_intermediate_size"}, kMaxWidth);
  moe.shared_intermediate = fields.count_or_zero("shared_expert_intermediate_size", kMaxWidth);
  moe.shared_gate = moe.shared_intermediate > 0;
  model.moe = moe;
  const std::uint32_t step = fields.size_or({"decoder_sparse_step"}, kMaxLayers, 1);
  const std::vector<std::uint32_t> dense = fields.integers("mlp_only_layers");
  rules.moe.resize(rules.layers);
  for (std::uint32_t i = 0; i < rules.layers; ++i) {
    rules.moe[i] = (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
  }
}

void qwen2_moe(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  model.qkv_bias = true;
  qwen_experts(fields, model, rules);
}

void qwen3_moe(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  qwen3(fields, model, rules);
  qwen_experts(fields, model, rules);
}

MoeShape mixtral_experts(const Fields& fields) {
  MoeShape moe;
  moe.experts = fields.size({"num_local_experts"}, kMaxExperts);
  moe.experts_per_token = fields.size({"num_experts_per_tok"}, kMaxExperts);
  moe.intermediate = fields.size({"intermediate_size"}, kMaxWidth);
  return moe;
}

void mixtral(const Fields& fields, ModelConfig& model, LayerRules&) { model.moe = mixtral_experts(fields); }

void phimoe(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.moe = mixtral_experts(fields);
  model.qkv_bias = model.output_bias = fields.flag_or("attention_bias", false);
  model.lm_head_bias = fields.flag_or("lm_head_bias", false);
  model.norm_bias = model.layer_norm = true;
  model.residual = ModelConfig::Residual::kSeparate;
}

void minimax(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.moe = mixtral_experts(fields);
  model.moe->router_bias = fields.flag_or("use_routing_bias", false);
  model.moe->sigmoid_scores = fields.text_or("scoring_func", "softmax") == "sigmoid";
  model.moe->shared_intermediate = fields.count_or_zero("shared_intermediate_size", kMaxWidth);
  if (fields.flag_or("use_qk_norm", false)) model.qk_norm = ModelConfig::QkNorm::kAllHeads;
}

void gpt_oss(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  model.moe = mixtral_experts(fields);
  model.moe->router_bias = model.moe->expert_bias = true;
  model.qkv_bias = model.output_bias = fields.flag_or("attention_bias", true);
  model.attention_sinks = true;
  model.activation = ModelConfig::Activation::kSwigluOai;  // the file says silu
  rules.full_every = fields.size_or({"sliding_window_pattern"}, kMaxLayers, 2);  // where no layer_types are given
}

/// YaRN sharpens attention: (nope + rope)^-1/2 × (0.1 × mscale_all_dim × ln(factor) + 1)².
double latent_scale(const Fields& fields, const MlaShape& mla) {
  const double factor = fields.nested_number_or("rope_scaling", "factor", 1);
  const double mscale = fields.nested_number_or("rope_scaling", "mscale_all_dim", 0);
  if (factor <= 1 || mscale == 0) return 0;
  const double sharper = 0.1 * mscale * std::log(factor) + 1;
  return sharper * sharper / std::sqrt(double(mla.qk_nope_dim) + mla.qk_rope_dim);
}

void deepseek(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  MlaShape mla;
  mla.q_lora_rank = fields.count_or_zero("q_lora_rank", kMaxWidth);
  mla.kv_lora_rank = fields.size({"kv_lora_rank"}, kMaxWidth);
  mla.qk_nope_dim = fields.size({"qk_nope_head_dim"}, kMaxWidth);
  mla.qk_rope_dim = fields.size({"qk_rope_head_dim"}, kMaxWidth);
  mla.v_dim = fields.size({"v_head_dim"}, kMaxWidth);
  mla.index_heads = fields.count_or_zero("index_n_heads", kMaxHeads);
  if (mla.index_heads > 0) {
    mla.index_dim = fields.size({"index_head_dim"}, kMaxWidth);
    mla.index_top_k = fields.size({"index_topk"}, kMaxTokens);
    if (mla.q_lora_rank == 0) fields.fail("q_lora_rank", "needed by the sparse-attention indexer, got none");
  }
  model.mla = mla;
  model.rope_interleaved = true;
  model.attention_scale = latent_scale(fields, mla);
  model.rotary_dim = mla.qk_rope_dim;
  rules.attention.kv_heads = 1;
  rules.attention.head_dim = mla.qk_nope_dim + mla.qk_rope_dim;
  rules.full_attention = rules.attention;
  if (!fields.has("n_routed_experts")) return;
  MoeShape moe;
  moe.experts = fields.size({"n_routed_experts"}, kMaxExperts);
  moe.experts_per_token = fields.size({"num_experts_per_tok"}, kMaxExperts);
  moe.intermediate = fields.size({"moe_intermediate_size"}, kMaxWidth);
  moe.shared_intermediate = fields.count_or_zero("n_shared_experts", 1024) * moe.intermediate;
  moe.router_bias = fields.text_or("topk_method", "") == "noaux_tc";
  moe.sigmoid_scores = fields.text_or("scoring_func", moe.router_bias ? "sigmoid" : "softmax") == "sigmoid";
  moe.groups = fields.size_or({"n_group"}, kMaxExperts, 1);
  moe.top_groups = fields.size_or({"topk_group"}, kMaxExperts, 1);
  model.moe = moe;
  const std::uint32_t first = fields.count_or_zero("first_k_dense_replace", kMaxLayers);
  const std::uint32_t step = fields.size_or({"moe_layer_freq"}, kMaxLayers, 1);
  rules.moe.resize(rules.layers);
  for (std::uint32_t i = 0; i < rules.layers; ++i) rules.moe[i] = i >= first && i % step == 0;
}

/// Experts in every `interleave_moe_layer_step`-th layer; chunked attention where the layer has rotary positions.
void llama4(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  MoeShape moe = mixtral_experts(fields);
  moe.shared_intermediate = moe.intermediate;
  model.moe = moe;
  rules.dense_intermediate = fields.size({"intermediate_size_mlp"}, kMaxWidth);
  const std::uint32_t step = fields.size_or({"interleave_moe_layer_step"}, kMaxLayers, 1);
  rules.moe.resize(rules.layers);
  for (std::uint32_t i = 0; i < rules.layers; ++i) rules.moe[i] = (i + 1) % step == 0;
  rules.windowed = AttentionKind::kChunkedLocal;
  rules.window = fields.count_or_zero("attention_chunk_size", kMaxTokens);
  rules.full_every = fields.size_or({"no_rope_layer_interval"}, kMaxLayers, 4);
  model.rope_on_full = false;
  model.moe->sigmoid_scores = true;
  model.weightless_qk_norm = fields.flag_or("use_qk_norm", false);
}

void olmo2(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.qkv_bias = model.output_bias = fields.flag_or("attention_bias", false);
  model.qk_norm = ModelConfig::QkNorm::kAllHeads;
  model.residual = ModelConfig::Residual::kSeparate;  // norms stand behind attention and MLP
}

void cohere(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  model.qkv_bias = model.output_bias = fields.flag_or("attention_bias", false);
  model.norms_per_layer = 1;  // attention and MLP run beside each other
  model.residual = ModelConfig::Residual::kParallel;
  model.layer_norm = model.rope_interleaved = true;
  model.rope_on_full = model.family != "cohere2";
  if (fields.flag_or("use_qk_norm", false)) model.qk_norm = ModelConfig::QkNorm::kAllHeads;
  if (model.family == "cohere2") rules.full_every = fields.size_or({"sliding_window_pattern"}, kMaxLayers, 4);
}

void gemma(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  llama(fields, model, rules);
  model.unit_offset_norm = true;
  // The files say gelu; the model was trained with the tanh approximation, which engines run.
  if (!fields.has("hidden_activation")) model.activation = ModelConfig::Activation::kGeluTanh;
}

void gemma2(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  model.qkv_bias = model.output_bias = fields.flag_or("attention_bias", false);
  model.norms_per_layer = 4;
  model.unit_offset_norm = true;
  const bool second = model.family == "gemma2";
  model.attention_soft_cap = fields.number_or("attn_logit_softcapping", second ? 50 : 0);
  model.logits_soft_cap = fields.number_or("final_logit_softcapping", second ? 30 : 0);
  model.attention_scale = 1 / std::sqrt(fields.number_or("query_pre_attn_scalar", 256));
  rules.full_every = 2;
  if (rules.window == 0) rules.window = 4096;
}

void gemma3(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  gemma2(fields, model, rules);
  model.qk_norm = ModelConfig::QkNorm::kPerHead;
  rules.full_every = fields.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, kMaxLayers, 6);
}

/// Dense MLP and experts beside each other; fully attending layers have other heads and use keys as values.
void gemma4(const Fields& fields, ModelConfig& model, LayerRules& rules) {
  gemma3(fields, model, rules);
  model.unit_offset_norm = false;
  model.residual = ModelConfig::Residual::kSeparate;
  model.attention_scale = 1;
  model.value_norm = true;
  if (fields.count_or_zero("hidden_size_per_layer_input", kMaxWidth) > 0) {
    fields.fail("hidden_size_per_layer_input", "per-layer embeddings are not supported");
  }
  if (fields.count_or_zero("num_kv_shared_layers", kMaxLayers) > 0) {
    fields.fail("num_kv_shared_layers", "layers that share a KV cache are not supported");
  }
  AttentionShape& full = rules.full_attention;
  full.head_dim = fields.size_or({"global_head_dim"}, kMaxWidth, full.head_dim);
  full.kv_heads = fields.size_or({"num_global_key_value_heads"}, kMaxHeads, full.kv_heads);
  full.value_is_key = fields.flag_or("attention_k_eq_v", false);
  if (!fields.flag_or("enable_moe_block", false)) return;
  MoeShape moe;
  moe.experts = fields.size({"num_experts"}, kMaxExperts);
  moe.experts_per_token = fields.size({"top_k_experts", "num_experts_per_tok"}, kMaxExperts);
  moe.intermediate = fields.size({"moe_intermediate_size"}, kMaxWidth);
  moe.shared_intermediate = rules.dense_intermediate;
  model.moe = moe;
  model.norms_per_layer = 7;
}

void phi(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.gated_mlp = false;
  model.qkv_bias = model.output_bias = model.mlp_bias = model.lm_head_bias = true;
  model.norms_per_layer = 1;
  model.norm_bias = model.layer_norm = true;
  model.residual = ModelConfig::Residual::kParallel;
  if (fields.flag_or("qk_layernorm", false)) fields.fail("qk_layernorm", "must be false");
}

void starcoder2(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.gated_mlp = false;
  model.qkv_bias = model.output_bias = model.mlp_bias = fields.flag_or("use_bias", true);
  model.norm_bias = model.layer_norm = true;
  model.residual = ModelConfig::Residual::kSeparate;
}

void opt(const Fields& fields, ModelConfig& model, LayerRules&) {
  model.gated_mlp = false;
  model.qkv_bias = model.output_bias = model.mlp_bias = fields.flag_or("enable_bias", true);
  model.norm_bias = model.layer_norm = true;
  model.residual = ModelConfig::Residual::kSeparate;
  model.rotary_dim = 0;
  model.learned_positions = model.max_position + 2;  // two rows for padding
  if (fields.size_or({"word_embed_proj_dim"}, kMaxWidth, model.hidden) != model.hidden) {
    fields.fail("word_embed_proj_dim", "must equal hidden_size");
  }
}

constexpr std::array kFamilies{
    ModelFamily{"cohere", true, cohere},
    ModelFamily{"cohere2", true, cohere},
    ModelFamily{"deepseek_v2", false, deepseek},
    ModelFamily{"deepseek_v3", false, deepseek},
    ModelFamily{"deepseek_v32", false, deepseek},
    ModelFamily{"gemma", true, gemma, "gelu_pytorch_tanh"},
    ModelFamily{"gemma2", true, gemma2, "gelu_pytorch_tanh"},
    ModelFamily{"gemma3_text", true, gemma3, "gelu_pytorch_tanh"},
    ModelFamily{"gemma4_text", true, gemma4, "gelu_pytorch_tanh"},
    ModelFamily{"glm_moe_dsa", false, deepseek},
    ModelFamily{"gpt_oss", false, gpt_oss},
    ModelFamily{"internlm", false, llama},
    ModelFamily{"internlm2", false, llama},
    ModelFamily{"kimi_k2", false, deepseek},
    ModelFamily{"llama", false, llama},
    ModelFamily{"llama4_text", false, llama4},
    ModelFamily{"mimo", false, mimo},
    ModelFamily{"minimax_m2", false, minimax},
    ModelFamily{"mistral", false, no_bias},
    ModelFamily{"mixtral", false, mixtral},
    ModelFamily{"olmo2", false, olmo2},
    ModelFamily{"opt", true, opt, "relu"},
    ModelFamily{"phi", false, phi, "gelu_new"},
    ModelFamily{"phi3", false, no_bias},
    ModelFamily{"phimoe", false, phimoe},
    ModelFamily{"qwen", false, qwen1},
    ModelFamily{"qwen2", false, qwen2},
    ModelFamily{"qwen2_moe", false, qwen2_moe},
    ModelFamily{"qwen3", false, qwen3},
    ModelFamily{"qwen3_moe", false, qwen3_moe},
    ModelFamily{"starcoder2", true, starcoder2, "gelu_pytorch_tanh"},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kRefused{{
    {"bamba", "Mamba layers are not supported"},
    {"falcon_h1", "Mamba layers are not supported"},
    {"falcon_mamba", "Mamba layers are not supported"},
    {"granitemoehybrid", "Mamba layers are not supported"},
    {"jamba", "Mamba layers are not supported"},
    {"kimi_linear", "linear-attention layers are not supported"},
    {"mamba", "Mamba layers are not supported"},
    {"mamba2", "Mamba layers are not supported"},
    {"minimax", "linear-attention layers are not supported"},
    {"nemotron_h", "Mamba layers are not supported"},
    {"qwen3_5_moe_text", "linear-attention layers are not supported"},
    {"qwen3_5_text", "linear-attention layers are not supported"},
    {"qwen3_next", "linear-attention layers are not supported"},
    {"zamba2", "Mamba layers are not supported"},
}};

}  // namespace

std::span<const ModelFamily> model_families() { return kFamilies; }

std::string_view refusal_reason(std::string_view model_type) {
  for (const auto& [name, reason] : kRefused) {
    if (name == model_type) return reason;
  }
  return {};
}

}  // namespace dooly::oracle
