#pragma once

#include "oracle/operator_key.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/sample.hpp"

#include <string>
#include <vector>

namespace dooly::profiling {

struct Example {
  std::string name;
  oracle::OperatorKey key;
  oracle::SamplePoint point;
};

/// A small operator of each kind, as `kernels` name their families.
template <typename Kernels>
std::vector<Example> examples(const std::string& dtype, const Kernels& kernels) {
  const oracle::AttentionWork full{.heads = 8, .kv_heads = 2, .head_dim = 64};
  oracle::AttentionWork window = full, odd = full;
  window.window = 32;
  odd.scale = 0.05;
  odd.soft_cap = 20;
  const oracle::ExpertWork experts{.hidden = 64, .intermediate = 32, .local_experts = 8, .top_k = 2};
  const oracle::MlaWork latent{.heads = 4, .kv_lora_rank = 512, .qk_nope_dim = 128, .qk_rope_dim = 64, .v_dim = 128};
  std::vector<Example> all = {
      {"linear", oracle::linear_key({dtype, dtype, dtype}, 128, 192), {33}},
      {"linear with bias", oracle::linear_key({dtype, dtype, dtype}, 128, 192, true), {33}},
      {"embedding", oracle::embedding_key(dtype, 512, 64), {17}},
      {"rms_norm", oracle::rms_norm_key(dtype, 256, false), {17}},
      {"rms_norm with residual", oracle::rms_norm_key(dtype, 256, true), {17}},
      {"layer_norm", oracle::layer_norm_key(dtype, 256, false), {17}},
      {"qk_norm", oracle::qk_norm_key(dtype, {.heads = 8, .kv_heads = 2, .head_dim = 64}), {17}},
      {"rope", oracle::rope_key(dtype, 8, 2, 64), {17}},
      {"rope of neighbours", oracle::rope_key(dtype, 8, 2, 64, true), {17}},
      {"silu_and_mul", oracle::activation_key("silu_and_mul", dtype, 256), {17}},
      {"gelu_and_mul", oracle::activation_key("gelu_and_mul", dtype, 256, "tanh"), {17}},
      {"add", oracle::elementwise_key("add", dtype, 256, 3), {17}},
      {"soft_cap", oracle::elementwise_key("soft_cap", dtype, 256), {17}},
      {"sigmoid_mul", oracle::elementwise_key("sigmoid_mul", dtype, 256), {17}},
      {"sample", oracle::sample_key(dtype, 1000), {7}},
      {"kv_write", oracle::kv_write_key(dtype, dtype, 2, 64), {37}},
      {"decode", oracle::attention_key(dtype, dtype, full, ""), {0, 0, 0, 5, 40, 2, 133}},
      {"prefill", oracle::attention_key(dtype, dtype, full, ""), {2, 70, 0, 0, 0, 0, 0}},
      {"mixed", oracle::attention_key(dtype, dtype, full, ""), {2, 35, 50, 6, 90, 1, 300}},
      {"window", oracle::attention_key(dtype, dtype, window, ""), {1, 50, 20, 6, 90, 1, 300}},
      {"scale and cap", oracle::attention_key(dtype, dtype, odd, ""), {1, 50, 20, 6, 90, 1, 300}},
      {"bmm to the latent", oracle::bmm_key({dtype, dtype, dtype}, 4, 128, 512), {13}},
      {"bmm from the latent", oracle::bmm_key({dtype, dtype, dtype}, 4, 512, 128), {13}},
      {"mla_kv_write", oracle::mla_kv_write_key(dtype, dtype, 512, 64), {37}},
      {"latent decode", oracle::mla_attention_key(dtype, dtype, latent, ""), {0, 0, 0, 5, 40, 2, 133}},
      {"latent prefill", oracle::mla_attention_key(dtype, dtype, latent, ""), {2, 600, 50, 0, 0, 0, 0}},
      {"latent mixed", oracle::mla_attention_key(dtype, dtype, latent, ""), {1, 530, 50, 6, 90, 1, 300}},
      {"topk_softmax", oracle::topk_softmax_key(dtype, {.experts = 32, .top_k = 4}), {19}},
      {"moe_experts", oracle::moe_experts_key(dtype, dtype, experts), {21, 6, 2}},
  };
  for (auto& example : all) {
    if (example.key.family != "inductor") {
      example.key.family = kernels.family(example.key.kind);
    }
  }
  return all;
}

}  // namespace dooly::profiling
