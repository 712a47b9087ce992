#pragma once

#include "config_fields.hpp"
#include "oracle/model_config.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace dooly::oracle {

/// Sizes above which a config.json is taken to be broken.
inline constexpr std::uint32_t kMaxLayers = 4096;
inline constexpr std::uint32_t kMaxWidth = 1u << 20;
inline constexpr std::uint32_t kMaxHeads = 1u << 14;
inline constexpr std::uint32_t kMaxExperts = 1u << 16;
inline constexpr std::uint32_t kMaxTokens = 1u << 28;

/// What a family says about its layers beyond the fields of ModelConfig; the parser builds the layer list from it.
struct LayerRules {
  std::uint32_t layers = 0;
  std::uint32_t dense_intermediate = 0;
  AttentionShape attention;                  ///< of every layer, unless `full_attention` differs
  AttentionShape full_attention;             ///< of fully attending layers; equal to `attention` in most families
  AttentionKind windowed = AttentionKind::kSlidingWindow;
  std::uint32_t window = 0;                  ///< 0: no layer has one
  std::uint32_t full_every = 0;              ///< with a window: every that many-th layer attends fully; 0: none does
  std::vector<bool> moe;                     ///< by layer; empty: all, if the model has experts
};

/// Rules of one `model_type`.
struct ModelFamily {
  std::string_view model_type;
  bool tied_embeddings = false;  ///< if the file does not say
  void (*apply)(const ConfigFields& fields, ModelConfig& model, LayerRules& rules) = nullptr;
  std::string_view activation = "silu";  ///< if the file does not say
};

/// Sorted by `model_type`.
std::span<const ModelFamily> model_families();

/// Why a `model_type` is refused, or empty.
std::string_view refusal_reason(std::string_view model_type);

}  // namespace dooly::oracle
