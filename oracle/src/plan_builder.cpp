#include "plan_builder.hpp"

#include <algorithm>
#include <utility>

namespace dooly::oracle {

namespace {

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(value); }

struct ActivationName {
  std::string_view kind, approximate;
};

ActivationName activation_name(const ModelConfig& model) {
  using Activation = ModelConfig::Activation;
  const bool gated = model.gated_mlp;
  switch (model.activation) {
    case Activation::kSwigluOai:
    case Activation::kSilu: return {gated ? "silu_and_mul" : "silu", "none"};
    case Activation::kGelu: return {gated ? "gelu_and_mul" : "gelu", "none"};
    case Activation::kGeluTanh: return {gated ? "gelu_and_mul" : "gelu", "tanh"};
    case Activation::kGeluNew: return {gated ? "gelu_and_mul" : "gelu", "new"};
    case Activation::kRelu: return {gated ? "relu_and_mul" : "relu", "none"};
  }
  return {"silu_and_mul", "none"};
}

}  // namespace

PlanEntry& PlanBuilder::add(std::string_view name, std::uint32_t count, Binding binding, OperatorKey key) {
  PlanEntry entry;
  entry.name = name;
  entry.key = std::move(key);
  entry.binding = binding;
  entry.count = count;
  return entries_.emplace_back(std::move(entry));
}

PlanEntry& PlanBuilder::linear(std::string_view name, std::uint32_t count, const Format& weight, double k, double n,
                               bool bias) {
  PlanEntry& entry =
      add(name, count, Binding::kTokens, linear_key({dtype_, weight.name, dtype_}, whole(k), whole(n), bias));
  entry.flops_per_token = 2 * k * n;
  entry.weight_bytes = k * n * weight.bytes + (bias ? n * element_ : 0);
  entry.bytes_per_token = (k + n) * element_;
  return entry;
}

void PlanBuilder::bmm(std::string_view name, std::uint32_t count, Binding binding, double batch, double k, double n) {
  PlanEntry& entry = add(name, count, binding, bmm_key({dtype_, dtype_, dtype_}, whole(batch), whole(k), whole(n)));
  entry.flops_per_token = 2 * batch * k * n;
  entry.weight_bytes = batch * k * n * element_;
  entry.bytes_per_token = batch * (k + n) * element_;
}

void PlanBuilder::embedding(std::string_view name, double rows, double hidden) {
  PlanEntry& entry = add(name, 1, Binding::kTokens, embedding_key(dtype_, whole(rows), whole(hidden)));
  entry.bytes_per_token = 2 * hidden * element_;
}

void PlanBuilder::norm(std::string_view name, std::uint32_t count, const ModelConfig& model, double width,
                       bool residual) {
  if (count == 0) return;
  OperatorKey key = model.layer_norm ? layer_norm_key(dtype_, whole(width), model.norm_bias)
                                     : rms_norm_key(dtype_, whole(width), residual,
                                                    model.unit_offset_norm ? "inductor" : std::string_view{});
  add(name, count, Binding::kTokens, std::move(key)).bytes_per_token = (residual ? 4 : 2) * width * element_;
}

void PlanBuilder::qk_norm(std::uint32_t count, const QkNormWork& work) {
  const double heads = static_cast<double>(work.heads) + static_cast<double>(work.kv_heads) * (work.values ? 2 : 1);
  add("qk_norm", count, Binding::kTokens, qk_norm_key(dtype_, work)).bytes_per_token =
      2 * heads * static_cast<double>(work.head_dim) * element_;
}

void PlanBuilder::rope(std::string_view name, std::uint32_t count, double heads, double kv_heads, double rotary,
                       bool interleaved) {
  add(name, count, Binding::kTokens, rope_key(dtype_, whole(heads), whole(kv_heads), whole(rotary), interleaved))
      .bytes_per_token = 2 * (heads + kv_heads) * rotary * element_;
}

void PlanBuilder::kv_write(std::uint32_t count, double kv_heads, double head_dim) {
  add("kv_write", count, Binding::kTokens, kv_write_key(dtype_, cache_, whole(kv_heads), whole(head_dim), block_size_))
      .bytes_per_token = 2 * kv_heads * head_dim * (element_ + cache_element_);
}

void PlanBuilder::latent_write(std::uint32_t count, const MlaShape& mla) {
  add("kv_write", count, Binding::kTokens,
      mla_kv_write_key(dtype_, cache_, mla.kv_lora_rank, mla.qk_rope_dim, block_size_))
      .bytes_per_token = (double(mla.kv_lora_rank) + mla.qk_rope_dim) * (element_ + cache_element_);
}

void PlanBuilder::activation(std::string_view name, std::uint32_t count, const ModelConfig& model, double width) {
  const ActivationName kind = activation_name(model);
  add(name, count, Binding::kTokens, activation_key(kind.kind, dtype_, whole(width), kind.approximate))
      .bytes_per_token = (model.gated_mlp ? 3 : 2) * width * element_;
}

void PlanBuilder::elementwise(std::string_view name, std::string_view kind, std::uint32_t count, double width,
                              std::uint32_t terms) {
  const Binding binding = kind == "soft_cap" ? Binding::kLogitsRows : Binding::kTokens;
  const double passes = kind == "soft_cap" ? 2 : terms + 1.0;
  add(name, count, binding, elementwise_key(kind, dtype_, whole(width), terms)).bytes_per_token =
      passes * width * element_;
}

void PlanBuilder::attention(std::string_view name, std::uint32_t count, OperatorKey key, double prefill_flops,
                            double decode_flops, double kv_bytes) {
  PlanEntry& entry = add(name, count, Binding::kAttention, std::move(key));
  entry.flops_per_token = prefill_flops;
  entry.decode_flops_per_pair = decode_flops;
  entry.bytes_per_token = kv_bytes;
}

void PlanBuilder::routing(std::uint32_t count, const RoutingWork& work) {
  add("topk_softmax", count, Binding::kTokens, topk_softmax_key(dtype_, work)).bytes_per_token =
      static_cast<double>(work.experts) * element_ + 8 * static_cast<double>(work.top_k);  // weight and index
}

void PlanBuilder::experts(std::uint32_t count, const Format& weight, const ExpertWork& work,
                          std::uint32_t rows_per_token) {
  PlanEntry& entry = add("moe_experts", count, Binding::kExperts, moe_experts_key(dtype_, weight.name, work));
  const double hidden = static_cast<double>(work.hidden);
  const double width = static_cast<double>(work.intermediate);
  const double up = (work.gated ? 2 : 1) * width;
  const double local = static_cast<double>(work.local_experts);
  const double hits =
      static_cast<double>(work.top_k) * local / static_cast<double>(std::max(work.experts, work.local_experts));
  entry.flops_per_token = 2 * hidden * (up + width) * hits;
  entry.weight_bytes = local * (hidden * (up + width) * weight.bytes + (work.bias ? (up + hidden) * element_ : 0));
  // Both products, the activation between them, and the weighted sum.
  entry.bytes_per_token =
      ((hidden + up) + (up + width) + (width + hidden)) * hits * element_ + (hits + 1) * hidden * element_;
  entry.rows_per_token = rows_per_token;
}

void PlanBuilder::collective(std::string_view name, std::string_view kind, std::uint32_t count, std::uint32_t ranks,
                             double bytes, bool per_row) {
  // vLLM's own kernels take the all-reduces of one node's 2, 4, 6 or 8 GPUs.
  const bool custom = kind == "all_reduce" && ranks <= 8 && ranks % 2 == 0;
  PlanEntry& entry =
      add(name, count, Binding::kCollective, collective_key(kind, dtype_, ranks, custom ? "vllm-custom" : "nccl"));
  entry.bytes_per_token = bytes;
  entry.per_row = per_row;
}

void PlanBuilder::sample(double vocabulary) {
  // Logits are widened to 4 bytes, written, and read for the arg max.
  add("sample", 1, Binding::kLogitsRows, sample_key(dtype_, whole(vocabulary))).bytes_per_token =
      vocabulary * (element_ + 4 + 4);
}

std::vector<PlanEntry> PlanBuilder::take() {
  std::vector<PlanEntry> merged;
  for (PlanEntry& entry : entries_) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const PlanEntry& other) {
      return other.name == entry.name && other.binding == entry.binding && other.key == entry.key;
    });
    if (same != merged.end()) {
      same->count += entry.count;
      continue;
    }
    entry.signature = signature_of(entry.key);
    merged.push_back(std::move(entry));
  }
  entries_.clear();
  return merged;
}

}  // namespace dooly::oracle
