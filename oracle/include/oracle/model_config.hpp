#pragma once

#include "oracle/dtype.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::oracle {

/// Which earlier tokens a layer attends to.
enum class AttentionKind : std::uint8_t {
  kFull,           ///< all of them
  kSlidingWindow,  ///< the last `window` ones, itself included
  kChunkedLocal,   ///< those of its own chunk of `window` tokens
};

/// Attention of one layer. For multi-head latent attention `kv_heads` is 1 and the sizes stand in `ModelConfig::mla`.
struct AttentionShape {
  AttentionKind kind = AttentionKind::kFull;
  std::uint32_t window = 0;  ///< tokens; 0 for full attention
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  bool value_is_key = false;  ///< one projection serves as key and value (both are cached)
  bool operator==(const AttentionShape&) const = default;
};

/// One decoder layer, or `count` equal ones.
struct LayerShape {
  AttentionShape attention;
  bool moe = false;                ///< experts (`ModelConfig::moe`) instead of a dense MLP
  std::uint32_t intermediate = 0;  ///< width of the dense MLP; 0 in a layer of experts
  std::uint32_t count = 1;
};

/// Mixture of experts: every token runs through `experts_per_token` routed experts and the shared part.
struct MoeShape {
  std::uint32_t experts = 0;
  std::uint32_t experts_per_token = 0;
  std::uint32_t intermediate = 0;         ///< width of one routed expert
  std::uint32_t shared_intermediate = 0;  ///< total width of what every token runs through beside them; 0: none
  bool shared_gate = false;               ///< the shared part has a gate of its own (Qwen2-MoE)
  bool router_bias = false;               ///< one number per expert
  bool expert_bias = false;
  bool sigmoid_scores = false;   ///< experts are chosen by sigmoid, not softmax, of the router's output
  std::uint32_t groups = 1;      ///< of experts, of which the best `top_groups` may be chosen from
  std::uint32_t top_groups = 1;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): the cache holds kv_lora_rank + qk_rope_dim numbers a
/// token and layer, whatever the number of heads.
struct MlaShape {
  std::uint32_t q_lora_rank = 0;  ///< 0: the query is projected directly
  std::uint32_t kv_lora_rank = 0;
  std::uint32_t qk_nope_dim = 0;
  std::uint32_t qk_rope_dim = 0;
  std::uint32_t v_dim = 0;
  std::uint32_t index_heads = 0;  ///< sparse attention by an indexer (DeepSeek-V3.2); 0: dense
  std::uint32_t index_dim = 0;
  std::uint32_t index_top_k = 0;
};

/// What a Hugging Face config.json says about a decoder-only transformer, with the family's rules applied, so that
/// nothing below depends on family names. Vision and audio towers are left out.
struct ModelConfig {
  std::string name;    ///< hub id or path, for messages
  std::string family;  ///< `model_type`
  std::uint32_t hidden = 0;
  std::uint32_t vocabulary = 0;
  std::uint32_t max_position = 0;  ///< longest context the configuration allows
  std::uint32_t rotary_dim = 0;    ///< 0: no rotary embedding
  std::uint32_t learned_positions = 0;
  DType dtype = DType::kBfloat16;  ///< of the checkpoint
  std::optional<DType> linear_format;  ///< quantised linear layers
  std::optional<DType> expert_format;  ///< quantised experts
  bool block_scales = false;           ///< of fp8 weights: one a block of 128 × 128, not one a tensor or channel
  bool tied_embeddings = false;
  bool gated_mlp = true;  ///< gate and up projections (SwiGLU and kin); false: one up projection
  bool qkv_bias = false;
  bool output_bias = false;  ///< of the attention's output projection
  bool mlp_bias = false;
  bool lm_head_bias = false;
  bool attention_sinks = false;  ///< one learned number per head
  double attention_soft_cap = 0;  ///< 0: none
  double attention_scale = 0;     ///< factor of QKᵀ; 0: head_dim^-1/2
  double logits_soft_cap = 0;     ///< 0: none
  enum class Activation : std::uint8_t { kSilu, kGelu, kGeluTanh, kGeluNew, kRelu, kSwigluOai };
  Activation activation = Activation::kSilu;
  enum class QkNorm : std::uint8_t { kNone, kPerHead, kAllHeads } qk_norm = QkNorm::kNone;
  bool weightless_qk_norm = false;  ///< per head, without weights (Llama 4)
  bool value_norm = false;          ///< values are normalised too, without weights (Gemma 4)
  bool rope_interleaved = false;    ///< pairs of neighbours are rotated, not halves
  bool rope_on_full = true;         ///< false: fully attending layers have no rotary embedding
  std::uint32_t norms_per_layer = 2;
  bool norm_bias = false;
  bool layer_norm = false;  ///< norms subtract the mean
  bool unit_offset_norm = false;  ///< norms multiply with 1 + weight (Gemma)
  /// How a layer adds to the residual stream: within the following norm, in operations of its own, or both halves at
  /// once because attention and MLP run side by side.
  enum class Residual : std::uint8_t { kFused, kSeparate, kParallel } residual = Residual::kFused;
  std::optional<MoeShape> moe;
  std::optional<MlaShape> mla;
  std::vector<LayerShape> layers;  ///< every layer, in order, each with count 1

  /// Tokens that a sliding window lets a query see, itself included; 0: all of them, as where the window is no shorter
  /// than the longest context (kernels are then told of none).
  std::uint32_t operator_window(const AttentionShape& shape) const {
    const bool hides =
        shape.kind == AttentionKind::kSlidingWindow && (max_position == 0 || shape.window < max_position);
    return hides ? shape.window : 0;
  }
  /// Distinct layers with their counts, in order of first appearance.
  std::vector<LayerShape> layer_classes() const;
  std::uint32_t moe_layers() const;
};

/// Parses the text of a config.json (Python's NaN and Infinity are let through). Text-only models and the text part of
/// multi-modal ones. Throws OracleError naming model, key and value: unknown `model_type`, missing or absurd sizes,
/// unknown quantisation, and by name what is not supported (linear attention, Mamba).
ModelConfig parse_model(std::string_view json_text, std::string_view name);

/// Reads a config.json, or the one in a folder. Throws OracleError naming the path.
ModelConfig load_model_file(const std::filesystem::path& path);

/// `model_type`s that `parse_model` knows, sorted.
std::vector<std::string_view> supported_model_types();

}  // namespace dooly::oracle
