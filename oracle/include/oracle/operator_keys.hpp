#pragma once

#include "oracle/operator_key.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dooly::oracle {

// One function per kind of docs/operator-keys.md. Sizes are those of one GPU; attributes at their defaults are left
// out. An empty `family` means the one that the page names for the types.

struct LinearTypes {
  std::string input, weight, output;
};
OperatorKey linear_key(const LinearTypes& types, std::uint64_t k, std::uint64_t n, bool bias = false,
                       std::string_view family = {});
OperatorKey bmm_key(const LinearTypes& types, std::uint64_t batch, std::uint64_t k, std::uint64_t n);
OperatorKey embedding_key(std::string_view dtype, std::uint64_t rows, std::uint64_t hidden);
OperatorKey rms_norm_key(std::string_view dtype, std::uint64_t hidden, bool residual, std::string_view family = {});
OperatorKey layer_norm_key(std::string_view dtype, std::uint64_t hidden, bool bias);
OperatorKey rope_key(std::string_view dtype, std::uint64_t heads, std::uint64_t kv_heads, std::uint64_t rotary_dim,
                     bool interleaved = false);
OperatorKey kv_write_key(std::string_view dtype, std::string_view cache, std::uint64_t kv_heads, std::uint64_t head_dim,
                         std::uint32_t block_size = 16);
OperatorKey mla_kv_write_key(std::string_view dtype, std::string_view cache, std::uint64_t kv_lora_rank,
                             std::uint64_t rope_dim, std::uint32_t block_size = 16);
OperatorKey sample_key(std::string_view dtype, std::uint64_t vocabulary);

struct QkNormWork {
  std::uint64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool across_heads = false, layer_norm = false, values = false, weightless = false;
};
OperatorKey qk_norm_key(std::string_view dtype, const QkNormWork& work);

/// `kind`: silu_and_mul, gelu_and_mul, gelu or relu.
OperatorKey activation_key(std::string_view kind, std::string_view dtype, std::uint64_t width,
                           std::string_view approximate = "none");
/// add, sigmoid_mul, soft_cap: one pass over rows of `width`.
OperatorKey elementwise_key(std::string_view kind, std::string_view dtype, std::uint64_t width,
                            std::uint32_t terms = 2);

struct AttentionWork {
  std::uint64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::uint32_t window = 0;     ///< tokens, the query's own included; 0: all
  std::uint32_t chunk = 0;      ///< tokens of a local chunk; 0: none
  double scale = 0;             ///< 0: the kind's default
  double soft_cap = 0;
  bool causal = true, sinks = false;
  std::uint32_t block_size = 16;
};
/// `family`: fa3, fa2, flashinfer, triton, ...
OperatorKey attention_key(std::string_view q, std::string_view cache, const AttentionWork& work,
                          std::string_view family);

struct MlaWork {
  std::uint64_t heads = 0, q_lora_rank = 0, kv_lora_rank = 0, qk_nope_dim = 0, qk_rope_dim = 0, v_dim = 0;
  double scale = 0;             ///< 0: (qk_nope_dim + qk_rope_dim)^-1/2
  std::uint32_t top_k = 0;      ///< of an indexer; 0: all tokens
  std::uint32_t block_size = 16;
};
OperatorKey mla_attention_key(std::string_view q, std::string_view cache, const MlaWork& work, std::string_view family);
OperatorKey mla_module_key(std::string_view dtype, std::string_view weight, std::string_view cache,
                           std::uint64_t hidden, const MlaWork& work, std::string_view family);
OperatorKey mla_index_key(std::string_view q, std::string_view cache, std::uint64_t heads, std::uint64_t dim,
                          std::uint64_t top_k, std::uint32_t block_size = 16);

struct RoutingWork {
  std::uint64_t experts = 0, top_k = 0;
  std::string scoring = "softmax";
  std::uint32_t groups = 1, top_groups = 1;
  bool bias = false;
};
OperatorKey topk_softmax_key(std::string_view dtype, const RoutingWork& work);

struct ExpertWork {
  std::uint64_t hidden = 0, intermediate = 0, local_experts = 0, top_k = 0;
  std::uint64_t experts = 0;    ///< that tokens choose from; 0: the local ones
  std::string activation = "silu";
  bool gated = true, bias = false;
};
OperatorKey moe_experts_key(std::string_view input, std::string_view weight, const ExpertWork& work,
                            std::string_view family = {});

/// `kind`: all_reduce, all_gather, reduce_scatter, all_to_all, send_recv. `family`: nccl or vllm-custom.
OperatorKey collective_key(std::string_view kind, std::string_view dtype, std::uint64_t ranks,
                           std::string_view family = "nccl");

}  // namespace dooly::oracle
