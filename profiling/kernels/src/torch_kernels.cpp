#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/torch_operators.hpp"
#include "torch_latent.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rms_norm.h>

#include <tuple>

namespace dooly::profiling {

namespace {

template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

using AttentionCall = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                 const at::Tensor&, const at::Tensor&, std::int64_t, std::int64_t, std::int64_t, double,
                                 std::int64_t, double);

class TorchKernels final : public Kernels {
 public:
  TorchKernels() { register_torch_operators(); }

  std::string_view name() const override { return "torch"; }
  using Kernels::refusal;
  std::string refusal(const LatentShape& /*shape*/, at::ScalarType /*type*/) const override { return {}; }
  std::string family(std::string_view) const override { return "torch"; }

  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) override {
    return at::linear(x, weight, bias);
  }

  at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids) override { return at::embedding(table, ids); }

  at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) override {
    return at::rms_norm_symint(x, weight.sym_sizes(), weight, epsilon);
  }

  void add_rms_norm(at::Tensor& x, at::Tensor& residual, const at::Tensor& weight, double epsilon) override {
    static const auto op = find<void(at::Tensor&, at::Tensor&, const at::Tensor&, double)>("dooly::add_rms_norm_");
    op.call(x, residual, weight, epsilon);
  }

  at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) override {
    return at::layer_norm_symint(x, weight.sym_sizes(), weight, std::nullopt, epsilon, false);
  }

  void rope(const at::Tensor& positions, at::Tensor& q, at::Tensor& k, const at::Tensor& cos_sin, std::int64_t head_dim,
            bool interleaved) override {
    static const auto op =
        find<void(const at::Tensor&, at::Tensor&, at::Tensor&, const at::Tensor&, std::int64_t, bool)>("dooly::rope_");
    op.call(positions, q, k, cos_sin, head_dim, interleaved);
  }

  at::Tensor gated_activation(const at::Tensor& x, std::string_view kind) override {
    static const auto op = find<at::Tensor(const at::Tensor&, std::string_view)>("dooly::gated_activation");
    return op.call(x, kind);
  }

  void write_kv(const at::Tensor& k, const at::Tensor& v, at::Tensor& k_cache, at::Tensor& v_cache,
                const AttentionMetadata& metadata) override {
    static const auto op =
        find<void(const at::Tensor&, const at::Tensor&, at::Tensor&, at::Tensor&, const at::Tensor&)>(
            "dooly::write_kv_");
    op.call(k, v, k_cache, v_cache, metadata.slot_mapping);
  }

  at::Tensor attention(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                       const AttentionMetadata& metadata, const AttentionShape& shape) override {
    static const auto op = find<AttentionCall>("dooly::paged_attention");
    return op.call(q, k_cache, v_cache, metadata.query_start, metadata.sequence_lengths, metadata.block_table,
                   shape.heads, shape.kv_heads, shape.head_dim, shape.scale, shape.window, shape.soft_cap);
  }

  std::pair<at::Tensor, at::Tensor> top_experts(const at::Tensor& logits, std::int64_t top_k,
                                                bool renormalise) override {
    static const auto op =
        find<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, std::int64_t, bool)>("dooly::topk_softmax");
    auto [weights, ids] = op.call(logits, top_k, renormalise);
    return {std::move(weights), std::move(ids)};
  }

  at::Tensor experts(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down, const at::Tensor& weights,
                     const at::Tensor& ids) override {
    static const auto op =
        find<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&)>(
            "dooly::fused_experts");
    return op.call(x, gate_up, down, weights, ids);
  }

  at::Tensor sample(const at::Tensor& logits) override {
    static const auto op = find<at::Tensor(const at::Tensor&)>("dooly::greedy_sample");
    return op.call(logits);
  }

  LatentKernels* latent() override { return latent_.get(); }

 private:
  std::unique_ptr<LatentKernels> latent_ = make_torch_latent();
};

}  // namespace

std::pair<at::Tensor, at::Tensor> Kernels::head_norms(const at::Tensor& qkv, const HeadShape& shape) {
  const auto norm = [](const at::Tensor& x) { return at::linalg_vector_norm(x, 2, {-1}, false, at::kFloat); };
  const std::int64_t queries = shape.heads * shape.head_dim, keys = shape.kv_heads * shape.head_dim;
  if (shape.across_heads) {
    return {norm(qkv.narrow(1, 0, queries)).unsqueeze(1), norm(qkv.narrow(1, queries, keys)).unsqueeze(1)};
  }
  const at::Tensor rows = qkv.narrow(1, 0, queries + keys);
  const at::Tensor all = norm(rows.view({qkv.size(0), shape.heads + shape.kv_heads, shape.head_dim}));
  return {all.narrow(1, 0, shape.heads), all.narrow(1, shape.heads, shape.kv_heads)};
}

std::unique_ptr<Kernels> make_torch_kernels() { return std::make_unique<TorchKernels>(); }

}  // namespace dooly::profiling
