#pragma once

#include "profiling_kernels/attention_metadata.hpp"
#include "vllm_library.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// Into how many parts FlashAttention 3 may split the keys of a batch of so many tokens; 0: as many as it likes.
std::int64_t flash_splits(std::int64_t tokens);

/// FlashAttention 3 of the wheel, with the arguments that vLLM gives it.
class FlashAttention3Library {
 public:
  /// Those that differ between its uses; undefined tensors are left out.
  struct Call {
    at::Tensor q_latent, out, query_start, key_start, lengths, block_table, schedule;
    std::int64_t max_query = 0, max_key = 0, splits = 0;
    std::int64_t window_left = -1, window_right = -1;  ///< -1: no window
    double scale = 0, soft_cap = 0;
    bool causal = true;
  };
  struct Heads {
    std::int64_t query, kv;  ///< their numbers
    std::int64_t width, value_width;
  };

  /// Throws ProfilingError if it is not loaded.
  FlashAttention3Library() = default;
  /// As the kernel returns them: the output, the logarithms of the sums of exponentials, what parts left to be
/// combined.
  std::vector<at::Tensor> attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Call& call) const;
  /// How the work of causal attention over a paged cache is split.
  at::Tensor schedule(const AttentionMetadata& metadata, const Heads& heads, at::ScalarType type,
                      std::int64_t block_size, std::int64_t window_left, std::int64_t window_right) const;

 private:
  VllmOperator forward_{"_vllm_fa3_C::fwd"}, schedule_{"_vllm_fa3_C::get_scheduler_metadata"};
};

}  // namespace dooly::profiling
