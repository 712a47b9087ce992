#pragma once

#include "profiling_kernels/kernels.hpp"
#include "vllm_library.hpp"

#include <memory>
#include <string_view>

namespace dooly::profiling {

/// FlashAttention of the wheel, called as vLLM's back end calls it.
class VllmAttention {
 public:
  virtual ~VllmAttention() = default;
  virtual at::Tensor run(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                         const AttentionMetadata& metadata, const AttentionShape& shape) const = 0;
  virtual at::Tensor schedule(const AttentionMetadata& metadata, const AttentionShape& shape,
                              at::ScalarType type) const = 0;
};

/// `version`: fa3 or fa2. Throws ProfilingError for another, or if its library is not loaded.
std::unique_ptr<VllmAttention> make_vllm_attention(std::string_view version);
/// Path of its library in the wheel.
const char* vllm_attention_library(std::string_view version);

}  // namespace dooly::profiling
