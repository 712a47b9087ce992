#include "torch_latent.hpp"

#include "profiling_kernels/torch_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <limits>
#include <optional>
#include <tuple>
#include <vector>

namespace dooly::profiling {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::vector<std::int64_t> on_host(const at::Tensor& integers) {
  const at::Tensor host = integers.to(at::kLong).cpu().contiguous();
  return {host.const_data_ptr<std::int64_t>(), host.const_data_ptr<std::int64_t>() + host.numel()};
}

void write_latent(const at::Tensor& latent, const at::Tensor& k_rope, at::Tensor& cache, const at::Tensor& slots) {
  cache.view({-1, cache.size(2)}).index_copy_(0, slots, at::cat({latent, k_rope}, 1));
}

/// Hides from the last `queries` of `keys` tokens what comes after them.
at::Tensor causal(const at::Tensor& scores, std::int64_t queries, std::int64_t keys) {
  const auto options = scores.options().dtype(at::kLong);
  const at::Tensor query = at::arange(keys - queries, keys, options).unsqueeze(1);
  return scores.masked_fill(at::arange(keys, options).unsqueeze(0).gt(query), kNever);
}

at::Tensor latent_attention(const at::Tensor& q_latent, const at::Tensor& q_rope, const at::Tensor& cache,
                            const at::Tensor& query_start, const at::Tensor& sequence_lengths,
                            const at::Tensor& block_table, double scale) {
  const std::vector<std::int64_t> starts = on_host(query_start), lengths = on_host(sequence_lengths);
  const std::int64_t block_size = cache.size(1), rank = q_latent.size(2);
  at::Tensor out = at::empty(q_latent.sizes(), q_latent.options());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t queries = starts[i + 1] - starts[i], length = lengths[i];
    if (queries == 0 || length == 0) continue;
    const at::Tensor blocks =
        block_table.select(0, static_cast<std::int64_t>(i)).narrow(0, 0, (length + block_size - 1) / block_size);
    const at::Tensor rows = cache.index_select(0, blocks).view({-1, cache.size(2)}).narrow(0, 0, length).to(at::kFloat);
    const auto part = [&](const at::Tensor& x) { return x.narrow(0, starts[i], queries).transpose(0, 1); };
    const at::Tensor query = at::cat({part(q_latent), part(q_rope)}, 2).to(at::kFloat);
    const at::Tensor scores = causal(at::matmul(query, rows.t()) * scale, queries, length);
    part(out).copy_(at::matmul(at::softmax(scores, -1), rows.narrow(1, 0, rank)));
  }
  return out;
}

std::tuple<at::Tensor, at::Tensor> expanded_attention(const at::Tensor& q, const at::Tensor& kv,
                                                      const at::Tensor& k_rope, const at::Tensor& query_start,
                                                      const at::Tensor& key_start, std::int64_t /*max_seqlen_q*/,
                                                      std::int64_t /*max_seqlen_k*/, double scale, bool is_causal) {
  const std::vector<std::int64_t> starts = on_host(query_start), key_starts = on_host(key_start);
  const std::int64_t nope = q.size(2) - k_rope.size(1), heads = q.size(1), value = kv.size(2) - nope;
  at::Tensor out = at::zeros({q.size(0), heads, value}, q.options());
  at::Tensor lse = at::empty({heads, q.size(0)}, q.options().dtype(at::kFloat)).fill_(kNever);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::int64_t queries = starts[i + 1] - starts[i], keys = key_starts[i + 1] - key_starts[i];
    if (queries == 0 || keys == 0) continue;
    const at::Tensor own = kv.narrow(0, key_starts[i], keys).transpose(0, 1).to(at::kFloat);
    const at::Tensor shared = k_rope.narrow(0, key_starts[i], keys).to(at::kFloat).unsqueeze(0);
    const at::Tensor key = at::cat({own.narrow(2, 0, nope), shared.expand({heads, keys, k_rope.size(1)})}, 2);
    const at::Tensor query = q.narrow(0, starts[i], queries).transpose(0, 1).to(at::kFloat);
    at::Tensor scores = at::matmul(query, key.transpose(1, 2)) * scale;
    if (is_causal) scores = causal(scores, queries, keys);
    const at::Tensor sum = at::matmul(at::softmax(scores, -1), own.narrow(2, nope, value));
    out.narrow(0, starts[i], queries).copy_(sum.transpose(0, 1));
    lse.narrow(1, starts[i], queries).copy_(at::logsumexp(scores, {-1}));
  }
  return {out, lse};
}

at::Tensor gather_latent(const at::Tensor& cache, const at::Tensor& block_table, const at::Tensor& first,
                         const at::Tensor& key_start, const at::Tensor& prompt_of) {
  const std::int64_t block_size = cache.size(1);
  const at::Tensor prompt = prompt_of.to(at::kLong);
  const at::Tensor place =
      at::arange(prompt.size(0), prompt.options()) - key_start.index_select(0, prompt) + first.index_select(0, prompt);
  const at::Tensor block = block_table.index({prompt, place.floor_divide(block_size)}).to(at::kLong);
  return cache.view({-1, cache.size(2)}).index_select(0, block * block_size + place.remainder(block_size));
}

void ignore_empty(at::Tensor& out, at::Tensor& lse, const at::Tensor& query_start, const at::Tensor& key_start) {
  const at::Tensor no_keys = key_start.slice(0, 1).eq(key_start.slice(0, 0, -1));
  const at::Tensor token = at::arange(out.size(0), query_start.options());
  const at::Tensor prompt = at::bucketize(token, query_start.slice(0, 1), /*out_int32=*/false, /*right=*/true);
  const at::Tensor is_empty = no_keys.index_select(0, prompt.clamp_max(no_keys.size(0) - 1));
  out.masked_fill_(is_empty.view({-1, 1, 1}), 0);
  lse.masked_fill_(is_empty.unsqueeze(0), kNever);
}

void merge_attention(at::Tensor& out, const std::optional<at::Tensor>& lse, const at::Tensor& first,
                     const at::Tensor& first_lse, const at::Tensor& second, const at::Tensor& second_lse,
                     c10::SymInt merged_tokens) {
  const at::Tensor most = at::maximum(first_lse, second_lse);
  const at::Tensor base = most.masked_fill(most.eq(kNever), 0);
  const at::Tensor a = (first_lse - base).exp(), b = (second_lse - base).exp(), sum = a + b;
  const auto share = [&](const at::Tensor& weight) {
    return (weight / sum.clamp_min(std::numeric_limits<float>::min())).t().unsqueeze(2);
  };
  out.copy_(first.to(at::kFloat) * share(a) + second.to(at::kFloat) * share(b));
  const std::int64_t merged = merged_tokens.guard_int(__FILE__, __LINE__), rest = out.size(0) - merged;
  if (rest > 0) out.narrow(0, merged, rest).copy_(second.narrow(0, merged, rest));
  if (lse) lse->copy_(sum.log() + base);
}

void define(torch::Library& library) {
  library.def("write_latent_(Tensor latent, Tensor k_rope, Tensor(a!) cache, Tensor slot_mapping) -> ()");
  library.def(
      "latent_attention(Tensor q_latent, Tensor q_rope, Tensor cache, Tensor query_start, Tensor sequence_lengths, "
      "Tensor block_table, float scale) -> Tensor");
  library.def(
      "expanded_attention(Tensor q, Tensor kv, Tensor k_rope, Tensor query_start, Tensor key_start, int max_seqlen_q, "
      "int max_seqlen_k, float scale, bool causal) -> (Tensor, Tensor)");
  library.def(
      "gather_latent(Tensor cache, Tensor block_table, Tensor first, Tensor key_start, Tensor prompt_of) -> Tensor");
  library.def("ignore_empty_(Tensor(a!) out, Tensor(b!) lse, Tensor query_start, Tensor key_start) -> ()");
  library.def(
      "merge_attention_(Tensor(a!) out, Tensor(b!)? lse, Tensor first, Tensor first_lse, Tensor second, Tensor "
      "second_lse, SymInt merged_tokens) -> ()");
}

template <class Function>
auto operator_named(const char* name) {
  register_torch_operators();
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Function>();
}

class TorchLatent final : public LatentKernels {
 public:
  void write(const at::Tensor& latent, const at::Tensor& k_rope, at::Tensor& cache, const at::Tensor& slots) override {
    static const auto op = operator_named<decltype(write_latent)>("dooly::write_latent_");
    op.call(latent, k_rope, cache, slots);
  }

  void multiply_heads(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight) override {
    profiling::multiply_heads(out, x, weight);
  }

  at::Tensor attend_latent(const at::Tensor& q_latent, const at::Tensor& q_rope, const at::Tensor& cache,
                           const AttentionMetadata& metadata, const LatentShape& shape) override {
    static const auto op = operator_named<decltype(latent_attention)>("dooly::latent_attention");
    return op.call(q_latent, q_rope, cache, metadata.query_start, metadata.sequence_lengths, metadata.block_table,
                   shape.scale);
  }

  at::Tensor schedule(const AttentionMetadata&, const LatentShape&, at::ScalarType) override { return {}; }

  PartialAttention attend_expanded(const at::Tensor& q, const ExpandedKeys& keys, const PromptKeys& where,
                                   const LatentShape& shape, bool is_causal) override {
    static const auto op = operator_named<decltype(expanded_attention)>("dooly::expanded_attention");
    auto [out, lse] = op.call(q, keys.kv, keys.k_rope, where.query_start, where.key_start, where.max_query,
                              where.max_key, shape.scale, is_causal);
    return {std::move(out), std::move(lse)};
  }

  at::Tensor gather(const at::Tensor& cache, const AttentionMetadata& prompts, const LatentContext& context) override {
    static const auto op = operator_named<decltype(gather_latent)>("dooly::gather_latent");
    return op.call(cache, prompts.block_table, context.first, context.keys.key_start, context.prompt_of);
  }

  void ignore_empty(PartialAttention& part, const PromptKeys& keys) override { call_ignore_empty(part, keys); }

  void merge(at::Tensor& out, const at::Tensor& lse, const PartialAttention& first, const PartialAttention& second,
             const c10::SymInt& merged_tokens) override {
    static const auto op = operator_named<decltype(merge_attention)>("dooly::merge_attention_");
    op.call(out, lse.defined() ? std::optional(lse) : std::nullopt, first.out, first.lse, second.out, second.lse,
            merged_tokens);
  }
};

}  // namespace

void add_latent_operators(torch::Library& library) {
  define(library);
  const auto on_any_device = [&](const char* name, auto* function) {
    library.impl(name, torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, function));
  };
  on_any_device("write_latent_", write_latent);
  on_any_device("latent_attention", latent_attention);
  on_any_device("expanded_attention", expanded_attention);
  on_any_device("gather_latent", gather_latent);
  on_any_device("ignore_empty_", ignore_empty);
  on_any_device("merge_attention_", merge_attention);
}

std::unique_ptr<LatentKernels> make_torch_latent() { return std::make_unique<TorchLatent>(); }

void multiply_heads(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight) { at::bmm_out(out, x, weight); }

void call_ignore_empty(PartialAttention& part, const PromptKeys& keys) {
  static const auto op = operator_named<decltype(ignore_empty)>("dooly::ignore_empty_");
  op.call(part.out, part.lse, keys.query_start, keys.key_start);
}

}  // namespace dooly::profiling
