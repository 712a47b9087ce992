#pragma once

#include "profiling_engine/model.hpp"
#include "profiling_trace/pass_clock.hpp"
#include "profiling_trace/trace.hpp"
#include "profiling_trace/tracer.hpp"

#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// One request of the batch that is traced.
struct TraceRequest {
  std::int64_t query = 1;    ///< tokens to compute
  std::int64_t context = 0;  ///< tokens in the cache before
  bool samples = true;
};

struct TraceSettings {
  at::ScalarType dtype = at::kBFloat16;
  /// `meta` needs neither memory nor time, whatever the model's size, and Kernels of LibTorch.
  c10::Device device = c10::DeviceType::Meta;
  std::uint32_t tensor_parallel = 1, block_size = 16;
  std::uint32_t blocks = 1024;  ///< of the KV cache, at least: the engine decides it, no request
  bool each_layer_once = false;  ///< distinct layers alone (layer_fold.hpp), with the times of all
  std::vector<TraceRequest> batch;
  TracerOptions tracer;
  PassClock* clock = nullptr;  ///< times operators and pass, with random weights; null: nothing is timed
};

/// Batches of three kinds whose sizes all differ: prefill, decode, mixed. `large`: as many tokens as a GPU is given.
std::vector<TraceRequest> prefill_batch(bool large = false);
std::vector<TraceRequest> decode_batch(bool large = false);
std::vector<TraceRequest> mixed_batch(bool large = false);

/// One step of a model built from `config`, every size of the model and of the batch tainted: model symbols
/// hidden_size, vocab_size, padded_vocab_size, num_heads, num_kv_heads, head_dim, rotary_dim, max_position,
/// intermediate_size, num_experts, num_experts_per_token, expert_intermediate_size, shared_intermediate_size,
/// block_size, num_blocks, tensor_parallel (if not 1); request symbols num_tokens, num_requests, num_logits_rows,
/// table_blocks (of the n-th further group: table_blocks.n), attention_schedule where the kernels plan ahead. Latent
/// attention adds q_lora_rank, kv_lora_rank, qk_nope_dim, qk_rope_dim, v_dim, and of the batch num_decodes,
/// num_decode_tokens, num_prompts, num_prompt_tokens, num_context_queries, num_context_tokens.n. On a GPU
/// the timed passes hold what the engine does around the model: copies of the inputs, attention's plan, ids of the step
/// before, the copy of the results. That is outside of all operators. Throws ProfilingError as Model does, TaintError
/// as rules do.
Trace trace_model(const oracle::ModelConfig& config, const ModelNumbers& numbers, Kernels& kernels,
                  const TraceSettings& settings);

}  // namespace dooly::profiling
