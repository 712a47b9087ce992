#include "meta_operators.hpp"

#include "profiling_kernels/torch_operators.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace dooly::profiling {

namespace {

at::Tensor attention_shape(const at::Tensor& q, const at::Tensor& /*k_cache*/, const at::Tensor& /*v_cache*/,
                           const at::Tensor& /*query_start*/, const at::Tensor& /*sequence_lengths*/,
                           const at::Tensor& /*block_table*/, std::int64_t /*heads*/, std::int64_t /*kv_heads*/,
                           std::int64_t /*head_dim*/, double /*scale*/, std::int64_t /*window*/, double /*soft_cap*/) {
  return at::empty_like(q, at::MemoryFormat::Contiguous);
}

at::Tensor experts_shape(const at::Tensor& x, const at::Tensor& /*gate_up*/, const at::Tensor& /*down*/,
                         const at::Tensor& /*weights*/, const at::Tensor& /*ids*/) {
  return at::empty_like(x);
}

at::Tensor latent_attention_shape(const at::Tensor& q_latent, const at::Tensor& /*q_rope*/, const at::Tensor& /*cache*/,
                                  const at::Tensor& /*query_start*/, const at::Tensor& /*sequence_lengths*/,
                                  const at::Tensor& /*block_table*/, double /*scale*/) {
  return at::empty_like(q_latent, at::MemoryFormat::Contiguous);
}

std::tuple<at::Tensor, at::Tensor> expanded_attention_shapes(
    const at::Tensor& q, const at::Tensor& kv, const at::Tensor& k_rope, const at::Tensor& /*query_start*/,
    const at::Tensor& /*key_start*/, std::int64_t /*max_seqlen_q*/, std::int64_t /*max_seqlen_k*/, double /*scale*/,
    bool /*causal*/) {
  const std::int64_t value = kv.size(2) - (q.size(2) - k_rope.size(1));
  return {at::empty({q.size(0), q.size(1), value}, q.options()),
          at::empty({q.size(1), q.size(0)}, q.options().dtype(at::kFloat))};
}

at::Tensor gather_shape(const at::Tensor& cache, const at::Tensor& /*block_table*/, const at::Tensor& /*first*/,
                        const at::Tensor& /*key_start*/, const at::Tensor& prompt_of) {
  return at::empty({prompt_of.size(0), cache.size(2)}, cache.options());
}

void ignore_no_empty(at::Tensor& /*out*/, at::Tensor& /*lse*/, const at::Tensor& /*query_start*/,
                     const at::Tensor& /*key_start*/) {}

// LibTorch has these in Python alone.

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_shapes(const at::Tensor& input, at::IntArrayRef normalized,
                                                                 const std::optional<at::Tensor>& /*weight*/,
                                                                 const std::optional<at::Tensor>& /*bias*/,
                                                                 double /*epsilon*/) {
  std::vector<std::int64_t> sizes = input.sizes().vec();
  std::fill(sizes.end() - static_cast<std::ptrdiff_t>(normalized.size()), sizes.end(), 1);
  const at::Tensor statistic = at::empty(sizes, input.options().dtype(at::kFloat));
  return {at::empty_like(input), statistic, at::empty_like(statistic)};
}

at::Tensor index_select_shape(const at::Tensor& self, std::int64_t dim, const at::Tensor& index) {
  std::vector<std::int64_t> sizes = self.sizes().vec();
  if (!sizes.empty()) sizes[static_cast<std::size_t>(dim < 0 ? dim + self.dim() : dim)] = index.numel();
  return at::empty(sizes, self.options());
}

}  // namespace

void register_meta_operators() {
  register_torch_operators();
  static torch::Library* const library = [] {
    auto* made = new torch::Library(torch::Library::IMPL, "dooly", c10::DispatchKey::Meta, __FILE__, __LINE__);
    made->impl("paged_attention", attention_shape);
    made->impl("fused_experts", experts_shape);
    made->impl("latent_attention", latent_attention_shape);
    made->impl("expanded_attention", expanded_attention_shapes);
    made->impl("gather_latent", gather_shape);
    made->impl("ignore_empty_", ignore_no_empty);
    return made;  // for the life of the process, as the operators themselves
  }();
  static torch::Library* const torch_library = [] {
    auto* made = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
    made->impl("index_select", index_select_shape);
    made->impl("native_layer_norm", layer_norm_shapes);
    return made;
  }();
  (void)library, (void)torch_library;
}

}  // namespace dooly::profiling
