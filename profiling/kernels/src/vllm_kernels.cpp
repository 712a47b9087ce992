#include "profiling_kernels/compiled_shapes.hpp"
#include "profiling_kernels/cuda.hpp"
#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "triton_experts.hpp"
#include "triton_norms.hpp"
#include "vllm_attention.hpp"
#include "vllm_latent.hpp"
#include "vllm_library.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include <map>
#include <optional>

namespace dooly::profiling {

namespace {

/// Libraries before operators: these are looked up when a member is made.
struct Operators {
  VllmOperator rms_norm{"_C::rms_norm"};
  VllmOperator fused_add_rms_norm{"_C::fused_add_rms_norm"};
  VllmOperator rotary_embedding{"_C::rotary_embedding"};
  VllmOperator silu_and_mul{"_C::silu_and_mul"};
  VllmOperator gelu_and_mul{"_C::gelu_and_mul"};
  VllmOperator gelu_tanh_and_mul{"_C::gelu_tanh_and_mul"};
  VllmOperator reshape_and_cache_flash{"_C_cache_ops::reshape_and_cache_flash"};
  VllmOperator topk_softmax{"_moe_C::topk_softmax"};
};

std::vector<std::string> library_names(std::string_view attention) {
  std::vector<std::string> names = vllm_attention_libraries(attention);
  names.insert(names.end(), {"_C_stable_libtorch.abi3.so", "_moe_C_stable_libtorch.abi3.so"});
  return names;
}

std::string family_of(std::string_view kind, const std::string& attention) {
  static const std::map<std::string_view, std::string_view> families = {{"linear", "cublas"},
                                                                        {"embedding", "torch"},
                                                                        {"layer_norm", "torch"},
                                                                        {"rms_norm", "vllm-c"},
                                                                        {"qk_norm", "vllm-c"},
                                                                        {"rope", "vllm-c"},
                                                                        {"silu_and_mul", "vllm-c"},
                                                                        {"gelu_and_mul", "vllm-c"},
                                                                        {"kv_write", "vllm-c"},
                                                                        {"topk_softmax", "vllm-c"},
                                                                        {"moe_experts", "triton-fused-moe"},
                                                                        {"sample", "torch"}};
  static const std::map<std::string_view, std::string_view> latent = {
      {"bmm", "cublas"}, {"mla_kv_write", "vllm-c"}, {"mla_attention", "fa3-mla"}};
  if (kind == "attention") {
    return attention;
  }
  if (const auto found = latent.find(kind); found != latent.end() && attention == "fa3")
    return std::string(found->second);
  const auto found = families.find(kind);
  return std::string(found == families.end() ? std::string_view() : found->second);
}

/// What no build of the kernels has.
std::string head_norm_refusal(at::ScalarType type) {
  return type == at::kBFloat16 ? "" : "norms of heads: scripts/triton-norms compiles bfloat16 only";
}

class VllmClaims final : public KernelClaims {
 public:
  explicit VllmClaims(std::string_view attention) : name_(fmt::format("vllm-{}", attention)), attention_(attention) {}
  std::string_view name() const override { return name_; }
  std::string family(std::string_view kind) const override { return family_of(kind, attention_); }
  using KernelClaims::refusal;
  std::string refusal(const AttentionShape& shape, at::ScalarType type) const override {
    return vllm_attention_refusal(attention_, shape, type);
  }
  std::string refusal(const HeadShape& /*shape*/, at::ScalarType type) const override {
    return head_norm_refusal(type);
  }
  std::string refusal(const LatentShape& shape, at::ScalarType type) const override {
    return attention_ == "fa3" ? flash_latent_refusal(shape, type) : KernelClaims::refusal(shape, type);
  }

 private:
  std::string name_, attention_;
};

class VllmKernels final : public Kernels {
 public:
  VllmKernels(const std::string& folder, std::string_view attention)
      : libraries_(folder, library_names(attention)),
        folder_(folder),
        name_(fmt::format("vllm-{}", attention)),
        attention_name_(attention),
        attention_(make_vllm_attention(attention, folder)),
        latent_(attention == "fa3" ? make_flash_latent() : nullptr),
        compiled_(folder),
        unit_scale_(at::ones(at::IntArrayRef(), at::TensorOptions(at::kCUDA).dtype(at::kFloat))) {}

  std::string_view name() const override { return name_; }

  std::string refusal(const AttentionShape& shape, at::ScalarType type) const override {
    return attention_->refusal(shape, type);
  }

  std::string refusal(const ExpertShape& shape) const override { return compiled_.refusal(shape); }

  std::string refusal(const HeadShape& shape, at::ScalarType type) const override {
    std::string lacks = head_norm_refusal(type);
    return lacks.empty() ? compiled_.refusal(shape) : lacks;
  }

  std::string refusal(const LatentShape& shape, at::ScalarType type) const override {
    return latent_ == nullptr ? Kernels::refusal(shape, type) : flash_latent_refusal(shape, type);
  }

  bool can_be_captured() const override { return attention_->can_be_captured(); }

  std::string family(std::string_view kind) const override { return family_of(kind, attention_name_); }

  std::map<std::string, std::string> libraries() const override {
    std::map<std::string, std::string> versions = attention_->libraries();
    versions["vllm"] = vllm_version(folder_);
    if (!compiled_.triton_version().empty()) versions["triton"] = compiled_.triton_version();
    return versions;
  }

  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) override {
    return at::linear(x, weight, bias);
  }

  at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids) override { return at::embedding(table, ids); }

  at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) override {
    at::Tensor out = at::empty_like(x, x.options(), at::MemoryFormat::Contiguous);
    operators_.rms_norm({out, x, weight, epsilon});
    return out;
  }

  void add_rms_norm(at::Tensor& x, at::Tensor& residual, const at::Tensor& weight, double epsilon) override {
    operators_.fused_add_rms_norm({x, residual, weight, epsilon});
  }

  /// The compiled kernels lie in FOLDER/norms.
  std::pair<at::Tensor, at::Tensor> head_norms(const at::Tensor& qkv, const HeadShape& shape) override {
    return TritonNorms::call(qkv, shape, folder_ + "/norms");
  }

  std::string choose(const HeadShape& shape) override { return TritonNorms::choose(shape, folder_ + "/norms"); }

  at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) override {
    return at::layer_norm(x, {x.size(-1)}, weight, {}, epsilon);
  }

  void rope(const at::Tensor& positions, at::Tensor& q, at::Tensor& k, const at::Tensor& cos_sin, std::int64_t head_dim,
            bool interleaved) override {
    operators_.rotary_embedding(
        {positions, q, k, head_dim, cos_sin, !interleaved, std::int64_t{0} /*offset*/, false /*inverse*/});
  }

  at::Tensor gated_activation(const at::Tensor& x, std::string_view kind) override {
    at::Tensor out = at::empty({x.size(0), x.size(1) / 2}, x.options());
    if (kind == "silu_and_mul") {
      operators_.silu_and_mul({out, x});
    } else if (kind == "gelu_and_mul") {
      operators_.gelu_and_mul({out, x});
    } else if (kind == "gelu_tanh_and_mul") {
      operators_.gelu_tanh_and_mul({out, x});
    } else {
      throw ProfilingError(
          fmt::format("gated activation '{}': allowed: silu_and_mul, gelu_and_mul, gelu_tanh_and_mul", kind));
    }
    return out;
  }

  void write_kv(const at::Tensor& k, const at::Tensor& v, at::Tensor& k_cache, at::Tensor& v_cache,
                const AttentionMetadata& metadata) override {
    operators_.reshape_and_cache_flash(
        {k, v, k_cache, v_cache, metadata.slot_mapping, "auto", unit_scale_, unit_scale_});
  }

  at::Tensor attention(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                       const AttentionMetadata& metadata, const AttentionShape& shape) override {
    return attention_->run(q, k_cache, v_cache, metadata, shape);
  }

  at::Tensor schedule(const AttentionMetadata& metadata, const AttentionShape& shape, at::ScalarType type) override {
    return attention_->schedule(metadata, shape, type);
  }

  std::pair<at::Tensor, at::Tensor> top_experts(const at::Tensor& logits, std::int64_t top_k,
                                                bool renormalise) override {
    const std::vector<std::int64_t> sizes = {logits.size(0), top_k};
    at::Tensor weights = at::empty(sizes, logits.options().dtype(at::kFloat));
    at::Tensor ids = at::empty(sizes, logits.options().dtype(at::kInt));
    const at::Tensor source_rows = at::empty(sizes, ids.options());  // written, of no use here
    operators_.topk_softmax({weights, ids, source_rows, logits, renormalise, c10::IValue() /*bias*/});
    return {std::move(weights), std::move(ids)};
  }

  /// The compiled kernels lie in FOLDER/experts; models without experts do without.
  at::Tensor experts(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down, const at::Tensor& weights,
                     const at::Tensor& ids) override {
    return TritonExperts::call(x, gate_up, down, weights, ids, folder_ + "/experts");
  }

  LatentKernels* latent() override { return latent_.get(); }

  /// vLLM turns logits into float32 before it chooses.
  at::Tensor sample(const at::Tensor& logits) override { return at::argmax(logits.to(at::kFloat), -1); }

 private:
  VllmLibraries libraries_;
  std::string folder_, name_, attention_name_;
  std::unique_ptr<VllmAttention> attention_;
  std::unique_ptr<LatentKernels> latent_;
  CompiledShapes compiled_;
  Operators operators_;
  at::Tensor unit_scale_;
};

}  // namespace

std::unique_ptr<Kernels> make_vllm_kernels(const std::string& folder, std::string_view attention) {
  load_cuda();
  return std::make_unique<VllmKernels>(folder, attention);
}

std::unique_ptr<KernelClaims> make_vllm_claims(std::string_view attention) {
  return std::make_unique<VllmClaims>(attention);
}

}  // namespace dooly::profiling
