#include "oracle/operator_keys.hpp"

#include <charconv>
#include <cmath>
#include <utility>

namespace dooly::oracle {

namespace {

using Value = OperatorKey::Value;

OperatorKey token_key(std::string_view kind, std::vector<std::string> dtypes, std::vector<std::uint64_t> dims,
                      std::string_view family) {
  OperatorKey key;
  key.kind = kind;
  key.dtypes = std::move(dtypes);
  key.dims = std::move(dims);
  key.request_dims = {"m"};
  key.family = family;
  return key;
}

void set_flag(OperatorKey& key, const char* name, bool value, bool usual = false) {
  if (value != usual) key.attributes[name] = Value(value);
}

void set_count(OperatorKey& key, const char* name, std::uint64_t value, std::uint64_t usual) {
  if (value != usual) key.attributes[name] = Value(static_cast<std::int64_t>(value));
}

void set_text(OperatorKey& key, const char* name, const std::string& value, std::string_view usual) {
  if (value != usual) key.attributes[name] = Value(value);
}

/// Nine significant digits: what differs between mathematical libraries is cut off.
double rounded(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, 8).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

/// A whole number is written as one, which is how it comes back from JSON.
Value number(double value) {
  const double kept = rounded(value);
  if (kept == std::floor(kept) && std::abs(kept) < 1e15) return static_cast<std::int64_t>(kept);
  return kept;
}

void set_scale(OperatorKey& key, double scale, std::uint64_t width) {
  if (scale == 0) return;
  const double usual = rounded(1 / std::sqrt(static_cast<double>(width)));
  if (rounded(scale) != usual) key.attributes["scale"] = number(scale);
}

bool is_wide(std::string_view dtype) { return dtype == "bfloat16" || dtype == "float16" || dtype == "float32"; }

std::string_view linear_family(std::string_view weight) {
  if (is_wide(weight)) return "cublas";
  return weight == "fp8_block" ? "vllm-fp8-block" : "cutlass";
}

std::string_view moe_family(std::string_view weight) {
  if (weight == "fp8") return "cutlass-fused-moe";
  if (weight == "fp8_block") return "vllm-fp8-block-moe";
  if (weight == "mxfp4") return "triton-mxfp4-moe";
  if (weight == "int4") return "marlin-moe";
  return "triton-fused-moe";
}

}  // namespace

OperatorKey linear_key(const LinearTypes& types, std::uint64_t k, std::uint64_t n, bool bias, std::string_view family) {
  OperatorKey key = token_key("linear", {types.input, types.weight, types.output}, {k, n},
                              family.empty() ? linear_family(types.weight) : family);
  set_flag(key, "bias", bias);
  return key;
}

OperatorKey bmm_key(const LinearTypes& types, std::uint64_t batch, std::uint64_t k, std::uint64_t n) {
  return token_key("bmm", {types.input, types.weight, types.output}, {batch, k, n}, "cublas");
}

OperatorKey embedding_key(std::string_view dtype, std::uint64_t rows, std::uint64_t hidden) {
  return token_key("embedding", {std::string(dtype)}, {rows, hidden}, "torch");
}

OperatorKey rms_norm_key(std::string_view dtype, std::uint64_t hidden, bool residual, std::string_view family) {
  OperatorKey key = token_key("rms_norm", {std::string(dtype)}, {hidden}, family.empty() ? "vllm-c" : family);
  set_flag(key, "residual", residual);
  return key;
}

OperatorKey layer_norm_key(std::string_view dtype, std::uint64_t hidden, bool bias) {
  OperatorKey key = token_key("layer_norm", {std::string(dtype)}, {hidden}, "inductor");
  set_flag(key, "bias", bias);
  return key;
}

OperatorKey rope_key(std::string_view dtype, std::uint64_t heads, std::uint64_t kv_heads, std::uint64_t rotary_dim,
                     bool interleaved) {
  OperatorKey key = token_key("rope", {std::string(dtype)}, {heads, kv_heads, rotary_dim}, "vllm-c");
  set_flag(key, "interleaved", interleaved);
  return key;
}

OperatorKey kv_write_key(std::string_view dtype, std::string_view cache, std::uint64_t kv_heads, std::uint64_t head_dim,
                         std::uint32_t block_size) {
  OperatorKey key = token_key("kv_write", {std::string(dtype), std::string(cache)}, {kv_heads, head_dim}, "vllm-c");
  set_count(key, "block_size", block_size, 16);
  return key;
}

OperatorKey mla_kv_write_key(std::string_view dtype, std::string_view cache, std::uint64_t kv_lora_rank,
                             std::uint64_t rope_dim, std::uint32_t block_size) {
  OperatorKey key =
      token_key("mla_kv_write", {std::string(dtype), std::string(cache)}, {kv_lora_rank, rope_dim}, "vllm-c");
  set_count(key, "block_size", block_size, 16);
  return key;
}

OperatorKey sample_key(std::string_view dtype, std::uint64_t vocabulary) {
  return token_key("sample", {std::string(dtype)}, {vocabulary}, "torch");
}

OperatorKey qk_norm_key(std::string_view dtype, const QkNormWork& work) {
  OperatorKey key = token_key("qk_norm", {std::string(dtype)}, {work.heads, work.kv_heads, work.head_dim}, "inductor");
  set_flag(key, "across_heads", work.across_heads);
  set_flag(key, "layer_norm", work.layer_norm);
  set_flag(key, "values", work.values);
  set_flag(key, "weightless", work.weightless);
  return key;
}

OperatorKey activation_key(std::string_view kind, std::string_view dtype, std::uint64_t width,
                           std::string_view approximate) {
  OperatorKey key = token_key(kind, {std::string(dtype)}, {width}, "vllm-c");
  set_text(key, "approximate", std::string(approximate), "none");
  return key;
}

OperatorKey elementwise_key(std::string_view kind, std::string_view dtype, std::uint64_t width, std::uint32_t terms) {
  OperatorKey key = token_key(kind, {std::string(dtype)}, {width}, "inductor");
  set_count(key, "terms", terms, 2);
  return key;
}

OperatorKey attention_key(std::string_view q, std::string_view cache, const AttentionWork& work,
                          std::string_view family) {
  OperatorKey key = token_key("attention", {std::string(q), std::string(cache), std::string(q)},
                              {work.heads, work.kv_heads, work.head_dim}, family);
  key.request_dims = {"batch"};
  set_flag(key, "causal", work.causal, true);
  set_count(key, "window", work.window, 0);
  set_count(key, "chunk", work.chunk, 0);
  set_scale(key, work.scale, work.head_dim);
  if (work.soft_cap != 0) key.attributes["soft_cap"] = number(work.soft_cap);
  set_flag(key, "sinks", work.sinks);
  set_count(key, "block_size", work.block_size, 16);
  return key;
}

OperatorKey mla_attention_key(std::string_view q, std::string_view cache, const MlaWork& work,
                              std::string_view family) {
  OperatorKey key = token_key("mla_attention", {std::string(q), std::string(cache), std::string(q)},
                              {work.heads, work.kv_lora_rank, work.qk_nope_dim, work.qk_rope_dim, work.v_dim}, family);
  key.request_dims = {"batch"};
  set_scale(key, work.scale, work.qk_nope_dim + work.qk_rope_dim);
  set_count(key, "top_k", work.top_k, 0);
  set_count(key, "block_size", work.block_size, 16);
  return key;
}

OperatorKey mla_module_key(std::string_view dtype, std::string_view weight, std::string_view cache,
                           std::uint64_t hidden, const MlaWork& work, std::string_view family) {
  OperatorKey key = token_key(
      "mla_module", {std::string(dtype), std::string(weight), std::string(cache)},
      {hidden, work.heads, work.q_lora_rank, work.kv_lora_rank, work.qk_nope_dim, work.qk_rope_dim, work.v_dim},
      family);
  key.request_dims = {"batch"};
  return key;
}

OperatorKey mla_index_key(std::string_view q, std::string_view cache, std::uint64_t heads, std::uint64_t dim,
                          std::uint64_t top_k, std::uint32_t block_size) {
  OperatorKey key = token_key("mla_index", {std::string(q), std::string(cache)}, {heads, dim, top_k}, "deepgemm");
  key.request_dims = {"batch"};
  set_count(key, "block_size", block_size, 16);
  return key;
}

OperatorKey topk_softmax_key(std::string_view dtype, const RoutingWork& work) {
  OperatorKey key = token_key("topk_softmax", {std::string(dtype)}, {work.experts, work.top_k}, "vllm-c");
  set_text(key, "scoring", work.scoring, "softmax");
  set_count(key, "groups", work.groups, 1);
  set_count(key, "top_groups", work.top_groups, 1);
  set_flag(key, "bias", work.bias);
  return key;
}

OperatorKey moe_experts_key(std::string_view input, std::string_view weight, const ExpertWork& work,
                            std::string_view family) {
  OperatorKey key = token_key("moe_experts", {std::string(input), std::string(weight)},
                              {work.hidden, work.intermediate, work.local_experts, work.top_k},
                              family.empty() ? moe_family(weight) : family);
  if (work.experts != 0) set_count(key, "experts", work.experts, work.local_experts);
  set_text(key, "activation", work.activation, "silu");
  set_flag(key, "gated", work.gated, true);
  set_flag(key, "bias", work.bias);
  return key;
}

OperatorKey collective_key(std::string_view kind, std::string_view dtype, std::uint64_t ranks,
                           std::string_view family) {
  OperatorKey key = token_key(kind, {std::string(dtype)}, {ranks}, family);
  key.request_dims = {"bytes"};
  return key;
}

}  // namespace dooly::oracle
