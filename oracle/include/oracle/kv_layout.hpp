#pragma once

#include "oracle/model_config.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace dooly::oracle {

/// Layers whose blocks are handed out together. All groups draw blocks of equal bytes from one pool.
struct KvCacheGroup {
  AttentionKind kind = AttentionKind::kFull;
  std::uint32_t window = 0;        ///< tokens; 0 for full attention
  std::uint32_t layers = 0;        ///< layers that use it (a group may be padded up to the pool's group size)
  std::uint32_t block_tokens = 0;  ///< tokens of one block; larger than asked where pages had to be made equal
};

/// How the KV cache of one GPU is cut into blocks.
struct KvCacheLayout {
  std::vector<KvCacheGroup> groups;    ///< in order of the first layer of each kind
  std::uint32_t layers_per_group = 0;  ///< pool's group size
  std::uint64_t block_bytes = 0;       ///< one block of one group: layers_per_group × bytes of a layer's page
  double bytes_per_token = 0;          ///< one token in every layer on this GPU; what a KV transfer moves
};

/// Bytes of one token in one layer on one GPU: 2 × KV heads × head_dim × element, or kv_lora_rank + qk_rope_dim
/// elements for latent attention (plus the indexer's key of one byte a number and 4 bytes of scale per 128).
double kv_bytes_per_token(const ModelConfig& model, const LayerShape& layer, std::uint32_t tensor_parallel,
                          DType kv_dtype);

/// Into how many groups layers are pooled that attend in so many ways, at least one layer each. vLLM V1: the fewest
/// layers of one kind make the group's size, or the most where they are less than half more.
std::uint32_t kv_group_count(std::span<const std::uint32_t> layers);

/// The groups that vLLM's KV cache manager makes (vllm/v1/core/kv_cache_utils.py, 0.26): one if all layers are alike or
/// all attend fully; else as many layers a group as the rarest kind has, or as the most frequent one if that has fewer
/// than 1.5 times as many. Throws OracleError if pages of different kinds cannot be made equal.
KvCacheLayout kv_cache_layout(const ModelConfig& model, std::uint32_t tensor_parallel, DType kv_dtype,
                              std::uint32_t block_size);

}  // namespace dooly::oracle
