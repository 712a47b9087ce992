#pragma once

#include "profiling_kernels/kernels.hpp"
#include "vllm_library.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::profiling {

/// An attention back end of the engine, called as vLLM calls it.
class VllmAttention {
 public:
  virtual ~VllmAttention() = default;
  virtual at::Tensor run(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                         const AttentionMetadata& metadata, const AttentionShape& shape) const = 0;
  /// As Kernels::schedule().
  virtual at::Tensor schedule(const AttentionMetadata& /*metadata*/, const AttentionShape& /*shape*/,
                              at::ScalarType /*type*/) const {
    return {};
  }
  /// Whether a captured step stays right when lengths change: nothing was worked out on the host.
  virtual bool can_be_captured() const { return true; }
  /// As Kernels::libraries(), of what it needs beside the wheel.
  virtual std::map<std::string, std::string> libraries() const { return {}; }
  /// As Kernels::refusal().
  virtual std::string refusal(const AttentionShape& shape, at::ScalarType type) const = 0;
};

/// `name`: fa3, fa2, triton or flashinfer, of the libraries and kernels in `folder`. Throws ProfilingError for another,
/// or if its library is not loaded.
std::unique_ptr<VllmAttention> make_vllm_attention(std::string_view name, const std::string& folder);
/// What no build of a back end's kernels has: window, type, width of the heads. Throws as make_vllm_attention() does.
std::string vllm_attention_refusal(std::string_view name, const AttentionShape& shape, at::ScalarType type);
/// Paths of the libraries in the wheel that a back end needs.
std::vector<std::string> vllm_attention_libraries(std::string_view name);

}  // namespace dooly::profiling
