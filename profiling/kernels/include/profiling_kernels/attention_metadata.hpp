#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace dooly::profiling {

/// Where the tokens of one step lie in the paged KV cache, for one group of layers. Tensors are on the model's device.
struct AttentionMetadata {
  at::Tensor query_start;       ///< int32 [requests + 1]: first token of each request in the batch
  at::Tensor sequence_lengths;  ///< int32 [requests]: tokens in the cache after this step (context + query)
  at::Tensor block_table;       ///< int32 [requests, blocks of the longest]
  at::Tensor slot_mapping;      ///< int64 [tokens]: where each token's key and value go
  at::Tensor schedule;  ///< work split that some kernels are handed, as Kernels::schedule() made it; undefined: none
  std::int64_t max_query = 0, max_sequence = 0;
};

}  // namespace dooly::profiling
