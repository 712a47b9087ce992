#pragma once

#include "oracle/model_config.hpp"

#include <c10/core/SymInt.h>

#include <cstdint>

namespace dooly::profiling {

/// Every size of a model that a tensor's shape is made of. Shapes are computed from these alone, by SymInt arithmetic,
/// so that whoever fills them with integers that know their origin finds it again in every weight and activation.
/// Sizes are those of config.json, unsplit; modules divide by `tensor_parallel`.
struct ModelDims {
  c10::SymInt hidden = 0;
  c10::SymInt vocabulary = 0;
  c10::SymInt padded_vocabulary = 0;  ///< rows of embedding and head, before the split
  c10::SymInt heads = 0, kv_heads = 0, head_dim = 0;
  c10::SymInt rotary_dim = 0;
  /// Of latent attention, else 0: widths of the latents of queries (0: none) and of keys and values, and of a head's
  /// parts.
  c10::SymInt q_lora_rank = 0, kv_lora_rank = 0, qk_nope_dim = 0, qk_rope_dim = 0, v_dim = 0;
  c10::SymInt positions = 0;  ///< rows of the table of rotary angles
  c10::SymInt intermediate = 0;
  c10::SymInt experts = 0, experts_per_token = 0;
  c10::SymInt expert_intermediate = 0, shared_intermediate = 0;
  c10::SymInt block_size = 0, blocks = 0;  ///< of the KV cache
  c10::SymInt tensor_parallel = 1;

  c10::SymInt local_heads() const { return heads / tensor_parallel; }
  /// KV heads are replicated when there are fewer of them than ranks.
  c10::SymInt local_kv_heads() const {
    return kv_heads >= tensor_parallel ? kv_heads / tensor_parallel : c10::SymInt(1);
  }
  c10::SymInt query_width() const { return local_heads() * head_dim; }
  c10::SymInt kv_width() const { return local_kv_heads() * head_dim; }
  c10::SymInt latent_width() const { return kv_lora_rank + qk_rope_dim; }
};

/// Plain integers. `blocks` counts the null block.
ModelDims dims_of(const oracle::ModelConfig& model, std::uint32_t tensor_parallel, std::uint32_t max_positions,
                  std::uint32_t block_size, std::uint32_t blocks);

}  // namespace dooly::profiling
