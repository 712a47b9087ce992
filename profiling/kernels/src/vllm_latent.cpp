#include "vllm_latent.hpp"

#include "flash_attention_3.hpp"
#include "profiling_kernels/torch_operators.hpp"
#include "torch_latent.hpp"
#include "vllm_library.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <vector>

namespace dooly::profiling {

namespace {

using c10::IValue;

IValue none() { return {}; }

IValue optional(const at::Tensor& tensor) { return tensor.defined() ? IValue(tensor) : IValue(); }

/// vLLM copies both parts of the keys next to each other; values stay where the projection left them.
std::vector<at::Tensor> expanded_attention(const at::Tensor& q, const at::Tensor& kv, const at::Tensor& k_rope,
                                           const at::Tensor& query_start, const at::Tensor& key_start,
                                           std::int64_t max_query, std::int64_t max_key, double scale, bool causal) {
  const std::int64_t nope = q.size(2) - k_rope.size(1);
  at::Tensor k = at::empty({kv.size(0), kv.size(1), q.size(2)}, kv.options());
  k.narrow(2, 0, nope).copy_(kv.narrow(2, 0, nope));
  k.narrow(2, nope, k_rope.size(1)).copy_(k_rope.unsqueeze(1));
  FlashAttention3Library::Call call;
  call.query_start = query_start;
  call.key_start = key_start;
  call.max_query = max_query;
  call.max_key = max_key;
  call.scale = scale;
  call.causal = causal;
  static const FlashAttention3Library library;
  const std::vector<at::Tensor> results = library.attend(q, k, kv.narrow(2, nope, kv.size(2) - nope), call);
  return {results.at(0), results.at(1)};
}

auto register_operator() {
  auto* const library = new torch::Library(torch::Library::FRAGMENT, "dooly", std::nullopt, __FILE__, __LINE__);
  library->def(
      "flash_expanded_attention(Tensor q, Tensor kv, Tensor k_rope, Tensor query_start, Tensor key_start, int "
      "max_seqlen_q, int max_seqlen_k, float scale, bool causal) -> Tensor[]");
  library->impl("flash_expanded_attention", torch::dispatch(c10::DispatchKey::CUDA, expanded_attention));
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("dooly::flash_expanded_attention", "")
      .typed<decltype(expanded_attention)>();
}

class FlashLatent final : public LatentKernels {
 public:
  FlashLatent() { register_torch_operators(); }

  void write(const at::Tensor& latent, const at::Tensor& k_rope, at::Tensor& cache, const at::Tensor& slots) override {
    write_({latent, k_rope, cache, slots, "auto", unit_scale_});
  }

  void multiply_heads(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight) override {
    profiling::multiply_heads(out, x, weight);
  }

  at::Tensor attend_latent(const at::Tensor& q_latent, const at::Tensor& q_rope, const at::Tensor& cache,
                           const AttentionMetadata& metadata, const LatentShape& shape) override {
    FlashAttention3Library::Call call;
    call.q_latent = q_latent;
    call.query_start = metadata.query_start;
    call.lengths = metadata.sequence_lengths;
    call.block_table = metadata.block_table;
    call.schedule = metadata.schedule;
    call.max_query = metadata.max_query;
    call.max_key = metadata.max_sequence;
    call.splits = flash_splits(q_latent.size(0));
    call.scale = shape.scale;
    const at::Tensor keys = cache.narrow(2, shape.rank, shape.rope).unsqueeze(2);
    const at::Tensor values = cache.narrow(2, 0, shape.rank).unsqueeze(2);
    return flash_.attend(q_rope, keys, values, call).at(0);
  }

  at::Tensor schedule(const AttentionMetadata& metadata, const LatentShape& shape, at::ScalarType type) override {
    return flash_.schedule(metadata, {shape.heads, 1, shape.rope, shape.rank}, type, shape.block_size, -1, -1);
  }

  PartialAttention attend_expanded(const at::Tensor& q, const ExpandedKeys& keys, const PromptKeys& where,
                                   const LatentShape& shape, bool causal) override {
    static const auto op = register_operator();
    const std::vector<at::Tensor> results = op.call(q, keys.kv, keys.k_rope, where.query_start, where.key_start,
                                                    where.max_query, where.max_key, shape.scale, causal);
    return {results.at(0), results.at(1)};
  }

  at::Tensor gather(const at::Tensor& cache, const AttentionMetadata& prompts, const LatentContext& context) override {
    const std::int64_t tokens = context.prompt_of.size(0);
    at::Tensor rows = at::empty({tokens, cache.size(2)}, cache.options());
    gather_({cache, rows, prompts.block_table, context.keys.key_start, context.prompt_of, tokens, "auto", unit_scale_,
             context.first});
    return rows;
  }

  /// vLLM's kernel for it is Triton's.
  void ignore_empty(PartialAttention& part, const PromptKeys& keys) override { call_ignore_empty(part, keys); }

  void merge(at::Tensor& out, const at::Tensor& lse, const PartialAttention& first, const PartialAttention& second,
             const c10::SymInt& merged_tokens) override {
    merge_({out, optional(lse), first.out, first.lse, second.out, second.lse, IValue(merged_tokens), none() /*scale*/});
  }

 private:
  FlashAttention3Library flash_;
  VllmOperator write_{"_C_cache_ops::concat_and_cache_mla"}, gather_{"_C_cache_ops::gather_and_maybe_dequant_cache"},
      merge_{"_C::merge_attn_states"};
  at::Tensor unit_scale_ = at::ones(at::IntArrayRef(), at::TensorOptions(at::kCUDA).dtype(at::kFloat));
};

}  // namespace

std::string flash_latent_refusal(const LatentShape& shape, at::ScalarType type) {
  if (type != at::kBFloat16 && type != at::kHalf) return "FlashAttention 3: bfloat16 and float16 alone";
  if (shape.rank != 512 || shape.rope != 64)
    return fmt::format("FlashAttention 3: latents of {} and rotated keys of {}: 512 and 64 alone", shape.rank,
                       shape.rope);
  constexpr std::array<std::array<std::int64_t, 2>, 3> kHeads{{{128, 128}, {192, 256}, {64, 128}}};
  if (std::find(kHeads.begin(), kHeads.end(), std::array{shape.nope, shape.value}) == kHeads.end())
    return fmt::format("the engine has no FlashAttention for heads of {} + {} and values of {}", shape.nope, shape.rope,
                       shape.value);
  return {};
}

std::unique_ptr<LatentKernels> make_flash_latent() { return std::make_unique<FlashLatent>(); }

}  // namespace dooly::profiling
