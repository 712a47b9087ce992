#pragma once

#include "profiling_kernels/latent_batch.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

namespace dooly::profiling {

/// Multi-head latent attention of one layer on one GPU.
struct LatentShape {
  std::int64_t heads = 0;
  std::int64_t rank = 0;  ///< of the latent that keys and values are projected to
  std::int64_t nope = 0, rope = 0;  ///< widths of a query head's parts: without and with position
  std::int64_t value = 0;  ///< width of a value head
  double scale = 0;  ///< factor of q·k
  std::int64_t block_size = 16;
};

/// Keys and values of K tokens, expanded from the latent.
struct ExpandedKeys {
  at::Tensor kv;      ///< [K, N, P + V]: keys without position, then values
  at::Tensor k_rope;  ///< [K, E]: the rest of the keys, which all heads share
};

/// Attention over some of the keys: the rest is merged in later.
struct PartialAttention {
  at::Tensor out;  ///< [T, N, value]
  at::Tensor lse;  ///< float32 [N, T]: logarithm of the sum of exponentials
};

/// The operators of latent attention. Shapes: T tokens, N heads, R rank, P = nope, E = rope, V = value.
class LatentKernels {
 public:
  virtual ~LatentKernels() = default;
  /// latent [T, R] and k_rope [T, E] into the cache [blocks, block_size, R + E].
  virtual void write(const at::Tensor& latent, const at::Tensor& k_rope, at::Tensor& cache,
                     const at::Tensor& slots) = 0;
  /// x [N, T, k] × weight [N, k, n] into out [N, T, n], none of which need be contiguous.
  virtual void multiply_heads(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight) = 0;
  /// Causal attention in the latent: q_latent [T, N, R] and q_rope [T, N, E] over the cache, which already holds this
  /// step's tokens -> [T, N, R].
  virtual at::Tensor attend_latent(const at::Tensor& q_latent, const at::Tensor& q_rope, const at::Tensor& cache,
                                   const AttentionMetadata& metadata, const LatentShape& shape) = 0;
  /// As Kernels::schedule(), for attend_latent().
  virtual at::Tensor schedule(const AttentionMetadata& metadata, const LatentShape& shape, at::ScalarType type) = 0;
  /// Attention of q [T, N, P + E]. `causal`: the keys are those of the queries' own tokens; else all are earlier ones.
  virtual PartialAttention attend_expanded(const at::Tensor& q, const ExpandedKeys& keys, const PromptKeys& where,
                                           const LatentShape& shape, bool causal) = 0;
  /// Rows of the cache that a part of the prompts' contexts has, [tokens, R + E].
  virtual at::Tensor gather(const at::Tensor& cache, const AttentionMetadata& prompts,
                            const LatentContext& context) = 0;
  /// Makes what prompts without keys in this part attended to count nothing.
  virtual void ignore_empty(PartialAttention& part, const PromptKeys& keys) = 0;
  /// Both parts as one into out [T, N, V] and, if it is defined, lse. Tokens from `merged_tokens` on have the second
  /// part alone.
  virtual void merge(at::Tensor& out, const at::Tensor& lse, const PartialAttention& first,
                     const PartialAttention& second, const c10::SymInt& merged_tokens) = 0;
};

/// Kind of the modules within latent attention that a step has or has not, as its batch is made up.
inline constexpr const char* kLatentPart = "LatentPart";
/// Kind of the module that they are parts of: latent attention without its projections.
inline constexpr const char* kLatentCore = "PagedLatentAttention";

/// Expands rows of the cache, [K, R + E].
using ExpandRows = std::function<ExpandedKeys(const at::Tensor& rows)>;

/// Attention of the batch's prompts as vLLM computes it: over their `own` tokens, then over their contexts, piece by
/// piece out of the cache. `out` [T, N, V] and q [T, N, P + E] hold the prompts' tokens alone.
void attend_prompts(LatentKernels& kernels, at::Tensor& out, const at::Tensor& q, const ExpandedKeys& own,
                    const at::Tensor& cache, const LatentBatch& batch, const LatentShape& shape,
                    const ExpandRows& expand);

}  // namespace dooly::profiling
