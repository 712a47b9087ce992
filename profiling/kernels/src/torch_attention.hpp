#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace dooly::profiling {

/// dooly::paged_attention: causal attention of q [T, N, D] over paged caches [blocks, block_size, K, D] -> [T, N, D].
/// The last query token of a request is its last token in the cache. `window` 0: all earlier tokens; `soft_cap` 0:
/// none. Sums are made in float32. The first is for tensors on the CPU: equal rows give equal results whatever else is
/// in the batch. The second works on every device and reads lengths back to the host.
at::Tensor paged_attention_cpu(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                               const at::Tensor& query_start, const at::Tensor& sequence_lengths,
                               const at::Tensor& block_table, std::int64_t heads, std::int64_t kv_heads,
                               std::int64_t head_dim, double scale, std::int64_t window, double soft_cap);
at::Tensor paged_attention_composed(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                                    const at::Tensor& query_start, const at::Tensor& sequence_lengths,
                                    const at::Tensor& block_table, std::int64_t heads, std::int64_t kv_heads,
                                    std::int64_t head_dim, double scale, std::int64_t window, double soft_cap);

}  // namespace dooly::profiling
