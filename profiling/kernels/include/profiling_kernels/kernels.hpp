#pragma once

#include "profiling_kernels/attention_metadata.hpp"
#include "profiling_kernels/latent_kernels.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dooly::profiling {

/// Decodes of a step that vLLM runs as one captured CUDA graph, at most.
inline constexpr std::int64_t kGraphTokens = 512;

/// Attention of one layer on one GPU.
struct AttentionShape {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 0;  ///< factor of q·k
  std::int64_t window = 0;  ///< tokens that a query attends to, itself included; 0: all
  double soft_cap = 0;  ///< 0: none
  std::int64_t block_size = 16;
};

/// Experts of one layer on one GPU.
struct ExpertShape {
  std::int64_t experts = 0, width = 0, hidden = 0, top_k = 0;
};

/// Heads in the rows of a fused projection of queries, keys and values.
struct HeadShape {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool across_heads = false;  ///< one norm over all of a token's heads
};

/// What kernels are of and what they lack, known before there are any.
class KernelClaims {
 public:
  virtual ~KernelClaims() = default;
  virtual std::string_view name() const = 0;  ///< "torch", "vllm-fa3", ...
  virtual std::string family(std::string_view kind) const = 0;  ///< implementation family of an operator kind
                                                                ///< (docs/operator-keys.md)
  /// Why these kernels cannot run attention of this shape and type, latent or not, experts of this shape, or
  /// head_norms(): it was not compiled ahead of time, say. Empty: they can.
  virtual std::string refusal(const AttentionShape& /*shape*/, at::ScalarType /*type*/) const { return {}; }
  virtual std::string refusal(const ExpertShape& /*shape*/) const { return {}; }
  virtual std::string refusal(const HeadShape& /*shape*/, at::ScalarType /*type*/) const { return {}; }
  virtual std::string refusal(const LatentShape& /*shape*/, at::ScalarType /*type*/) const {
    return "these kernels (" + std::string(name()) + ") have no latent attention";
  }
};

/// The operators of a transformer step, each one call, as the engine's kernel libraries offer them. The built-in engine
/// computes with it and the sweep measures with it, so both run the same kernels. Every call goes through LibTorch's
/// dispatcher, where the tracer sees it. Shapes: T tokens, H hidden, N heads, K KV heads, D head size.
class Kernels : public KernelClaims {
 public:
  /// Versions of the libraries that its kernels come from, beside LibTorch: vllm, triton, flashinfer. "unknown" of one
  /// that does not say.
  virtual std::map<std::string, std::string> libraries() const { return {}; }
  /// Whether a step can be captured as a CUDA graph: no operator waits for the device or reads what it computed.
  virtual bool can_be_captured() const { return false; }
  /// [T, k] x [n, k] (+ bias [n]) -> [T, n]
  virtual at::Tensor linear(const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias = std::nullopt) = 0;
  virtual at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids) = 0;
  /// [.., H]; normalises the last dimension.
  virtual at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) = 0;
  /// residual += x; x = rms_norm(residual). Both in place.
  virtual void add_rms_norm(at::Tensor& x, at::Tensor& residual, const at::Tensor& weight, double epsilon) = 0;
  /// Norms of queries and keys where a compiler leaves the multiplication to the rotary embedding: reads both in qkv
  /// [T, (N + 2*K)*D] and leaves one float32 number per head, [T, N] and [T, K] ([T, 1] across heads): its norm, or the
  /// square of that. LibTorch's reduction, unless these kernels have another.
  virtual std::pair<at::Tensor, at::Tensor> head_norms(const at::Tensor& qkv, const HeadShape& shape);
  /// Chooses among kernels for head_norms() by timing them, where there are several; to be called before a capture.
  /// Says what was chosen; empty: LibTorch's reduction, as ever.
  virtual std::string choose(const HeadShape& /*shape*/) { return {}; }
  virtual at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) = 0;
  /// Rotates q [T, N*D] and k [T, K*D], or [T, N, D] and [T, K, D] of any strides, in place. `cos_sin` is [positions,
  /// rotary_dim]: cosines, then sines.
  virtual void rope(const at::Tensor& positions, at::Tensor& q, at::Tensor& k, const at::Tensor& cos_sin,
                    std::int64_t head_dim, bool interleaved) = 0;
  /// [T, 2*I] -> [T, I]; `kind` silu_and_mul or gelu_and_mul (tanh: gelu_tanh_and_mul).
  virtual at::Tensor gated_activation(const at::Tensor& x, std::string_view kind) = 0;
  /// k, v [T, K, D] into caches [blocks, block_size, K, D] at metadata.slot_mapping.
  virtual void write_kv(const at::Tensor& k, const at::Tensor& v, at::Tensor& k_cache, at::Tensor& v_cache,
                        const AttentionMetadata& metadata) = 0;
  /// Causal attention of q [T, N, D] over the cache, which already holds this step's tokens -> [T, N, D].
  virtual at::Tensor attention(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                               const AttentionMetadata& metadata, const AttentionShape& shape) = 0;
  /// What AttentionMetadata::schedule is to hold for a step of layers of this shape and type; worked out once a step.
  /// Undefined: these kernels want none.
  virtual at::Tensor schedule(const AttentionMetadata& /*metadata*/, const AttentionShape& /*shape*/,
                              at::ScalarType /*type*/) {
    return {};
  }
  /// Router logits [T, E] -> weights float32 [T, k] and expert ids int32 [T, k].
  virtual std::pair<at::Tensor, at::Tensor> top_experts(const at::Tensor& logits, std::int64_t top_k,
                                                        bool renormalise) = 0;
  /// x [T, H], gate_up [E, 2*I, H], down [E, H, I] -> [T, H]: the weighted sum of each token's experts.
  virtual at::Tensor experts(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down,
                             const at::Tensor& weights, const at::Tensor& ids) = 0;
  /// Latent attention; null: these kernels have none.
  virtual LatentKernels* latent() { return nullptr; }
  /// Greedy choice: logits [rows, vocabulary] -> int64 [rows].
  virtual at::Tensor sample(const at::Tensor& logits) = 0;
};

/// LibTorch's own operators, on CPU and CUDA; paged attention and experts are plain compositions registered as the
/// operators dooly::paged_attention and dooly::fused_experts.
std::unique_ptr<Kernels> make_torch_kernels();

/// Kernels of the vLLM wheel's libraries in `folder` (holds vllm_flash_attn/_vllm_fa3_C.abi3.so, _C*.so, ...), with an
/// attention back end: `fa3` or `fa2` of the wheel; `triton`, the wheel's kernel as scripts/triton-attention compiled
/// it to folder/attention; `flashinfer`, folder/libdooly_flashinfer.so of scripts/flashinfer-kernels. Fused experts lie
/// in folder/experts, norms of heads in folder/norms. Needs CUDA. Throws ProfilingError naming what cannot be loaded.
std::unique_ptr<Kernels> make_vllm_kernels(const std::string& folder, std::string_view attention);

/// The same without libraries and GPU: what no build of them has. Shapes that have to be compiled ahead (Triton's,
/// FlashInfer's) count as there.
std::unique_ptr<KernelClaims> make_vllm_claims(std::string_view attention);

/// Version of the wheel whose libraries lie in `folder` (its _version.py); "unknown" without it.
std::string vllm_version(const std::string& folder);

}  // namespace dooly::profiling
