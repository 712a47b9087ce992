#pragma once

#include <ATen/core/Tensor.h>

#include "oracle/model_config.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// Keys and values [blocks, block_size, KV heads, head_dim] of one layer of each group: layers of different groups
/// share a tensor, in which their block ids differ. A head's keys and values lie behind each other, as in vLLM 0.26.
/// Latent attention has a latent and a rotated key for each token, [blocks, block_size, kv_lora_rank + qk_rope_dim],
/// which are kept as keys.
struct KvTensors {
  std::vector<at::Tensor> keys, values;
};

/// Where a layer's cache is.
struct KvPlace {
  std::size_t group = 0;   ///< whose block table it uses
  std::size_t tensor = 0;  ///< of KvTensors
};

/// Groups as oracle::kv_cache_layout makes them: layers i, i + n, i + 2n … of a kind that has n groups.
std::vector<KvPlace> kv_places(const oracle::ModelConfig& model, std::uint32_t tensor_parallel,
                               std::uint32_t block_size);

}  // namespace dooly::profiling
