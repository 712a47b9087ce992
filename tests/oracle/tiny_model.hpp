#pragma once

#include "oracle/gpu.hpp"
#include "oracle/model_config.hpp"
#include "oracle/roofline_oracle.hpp"

namespace dooly::oracle::test {

/// One layer of numbers small enough for mental arithmetic: hidden 8, 2 heads of 4, 1 KV head, MLP 16, vocabulary 64.
inline ModelConfig tiny_model() {
  return parse_model(R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 64, "max_position_embeddings": 128})",
                     "tiny");
}

/// `flops` FLOP/s, `bandwidth` bytes/s, links of 1 MB/s.
inline Gpu tiny_gpu(double flops, double bandwidth) {
  Gpu gpu;
  gpu.name = "tiny";
  gpu.memory_bytes = 1e9;
  gpu.memory_bandwidth = bandwidth;
  gpu.flops_16 = gpu.flops_32 = flops;
  gpu.link_bandwidth = 1e6;
  return gpu;
}

/// Peaks are reached, kernels and collectives start at once.
inline RooflineSettings ideal_settings() {
  RooflineSettings settings;
  settings.max_num_batched_tokens = 256;
  settings.max_num_seqs = 64;
  settings.efficiency = {1, 1, 1, 1, 0, 0, 0, 1};
  settings.fitted = false;
  return settings;
}

inline constexpr double kPlenty = 1e30;

/// `count` decodes, each with `context` tokens in the cache.
inline BatchShape equal_decodes(std::uint32_t count, std::uint64_t context) {
  BatchShape shape;
  shape.decodes = shape.logits_rows = count;
  shape.decode_context = count * context;
  shape.decode_context_squares = count * context * context;
  return shape;
}

}  // namespace dooly::oracle::test
