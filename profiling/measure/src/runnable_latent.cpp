// Operators of latent attention.
#include "oracle/step_plan.hpp"
#include "paged_batch.hpp"
#include "profiling_measure/shuffle.hpp"
#include "runnable_maker.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace dooly::profiling {

namespace {

constexpr std::uint64_t kSeed = 5;

/// A batch as an engine cuts it, at several places of the cache.
struct CutBatch {
  LatentLayout layout;
  std::vector<LatentBatch> places;
};

LatentLayout cut(AttentionBatch& batch, const LatentRules& rules) {
  std::vector<LatentRequest> requests;
  for (const auto& request : batch.requests)
    requests.push_back({static_cast<std::int64_t>(request.query), static_cast<std::int64_t>(request.context)});
  LatentLayout layout(requests, rules);
  std::vector<AttentionBatch::Request> ordered;
  for (const std::size_t place : layout.order) ordered.push_back(batch.requests[place]);
  batch.requests = std::move(ordered);
  return layout;
}

CutBatch cut_batch(const Making& making, AttentionBatch& batch, const LatentShape& shape, std::int64_t copies) {
  LatentKernels& kernels = *making.kernels.latent();
  LatentRules rules;
  rules.longest_absorbed = oracle::longest_absorbed(making.kernels.family("mla_attention"));
  rules.block_size = shape.block_size;
  CutBatch made{cut(batch, rules), {}};
  const auto block_size = static_cast<std::uint64_t>(shape.block_size);
  const auto order = shuffled<std::int32_t>(blocks_of(batch, block_size) * static_cast<std::uint64_t>(copies), kSeed);
  const PutIntegers put = [&](const std::vector<std::int32_t>& values, c10::SymIntArrayRef) {
    return making.inputs.integers(values);
  };
  std::size_t next = 0;
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    const AttentionMetadata whole = place(batch, block_size, order, next, making.inputs);
    made.places.push_back(
        make_latent_batch(made.layout, sizes_of(made.layout, batch.requests.size()), whole, query_starts(batch), put));
    AttentionMetadata& decodes = made.places.back().decodes;
    if (made.layout.decodes > 0) decodes.schedule = kernels.schedule(decodes, shape, making.type());
  }
  return made;
}

/// Attention of the requests that run in the latent.
std::function<at::Tensor(std::size_t)> latent_call(const Making& making, const CutBatch& cut, const LatentShape& shape,
                                                   const at::Tensor& cache) {
  const std::int64_t tokens = cut.layout.decode_tokens;
  const at::Tensor q = making.inputs.random("q", {tokens, shape.heads, shape.nope + shape.rope}, making.type())
                           .narrow(2, shape.nope, shape.rope);
  const at::Tensor absorbed =
      making.inputs.random("absorbed q", {shape.heads, tokens, shape.rank}, making.type()).transpose(0, 1);
  return [&kernels = *making.kernels.latent(), q, absorbed, cache, places = cut.places, shape](std::size_t copy) {
    return kernels.attend_latent(absorbed, q, cache, places[copy].decodes, shape);
  };
}

/// Attention of the others, over keys and values that the projection before has expanded.
std::function<at::Tensor(std::size_t)> expanded_call(const Making& making, const CutBatch& cut,
                                                     const LatentShape& shape, const at::Tensor& cache) {
  const std::int64_t tokens = cut.layout.prompt_tokens;
  std::int64_t most = 1;
  for (const LatentLayout::Context& context : cut.layout.contexts) most = std::max(most, context.tokens);
  const auto random = [&](const char* name, std::int64_t rows, std::int64_t width) {
    return making.inputs.random(name, {rows, shape.heads, width}, making.type());
  };
  const at::Tensor q = random("prompts' q", tokens, shape.nope + shape.rope);
  const at::Tensor of_context = random("context", most, shape.nope + shape.value);
  const at::Tensor rope = making.inputs.random("k_rope", {tokens, shape.rank + shape.rope}, making.type());
  const ExpandedKeys own{random("kv", tokens, shape.nope + shape.value), rope.narrow(1, shape.rank, shape.rope)};
  const ExpandRows expand = [of_context, shape](const at::Tensor& rows) {
    return ExpandedKeys{of_context.narrow(0, 0, rows.size(0)), rows.narrow(1, shape.rank, shape.rope)};
  };
  return [&kernels = *making.kernels.latent(), q, own, expand, cache, places = cut.places, shape](std::size_t copy) {
    at::Tensor out = at::empty({q.size(0), shape.heads, shape.value}, q.options());
    attend_prompts(kernels, out, q, own, cache, places[copy], shape, expand);
    return out;
  };
}

}  // namespace

LatentShape latent_shape(const oracle::OperatorKey& key) {
  const auto dim = [&](std::size_t i) { return static_cast<std::int64_t>(key.dims.at(i)); };
  LatentShape shape{dim(0), dim(1), dim(2), dim(3), dim(4)};
  shape.scale = number_of(key, "scale", 1 / std::sqrt(static_cast<double>(shape.nope + shape.rope)));
  shape.block_size = static_cast<std::int64_t>(number_of(key, "block_size", 16));
  return shape;
}

Runnable make_mla_attention(const Making& making) {
  AttentionBatch batch = attention_batch(making.point);
  const LatentShape shape = latent_shape(making.key);
  const std::int64_t width = shape.rank + shape.rope;
  const double token_bytes = static_cast<double>(width) * static_cast<double>(at::elementSize(making.type()));
  const std::int64_t copies = making.inputs.copies(tokens_read(batch, 0) * token_bytes);
  const auto blocks = static_cast<std::int64_t>(blocks_of(batch, static_cast<std::uint64_t>(shape.block_size)));
  const at::Tensor cache = making.inputs.random("cache", {blocks * copies, shape.block_size, width}, making.type());
  const CutBatch cut = cut_batch(making, batch, shape, copies);
  std::vector<std::function<at::Tensor(std::size_t)>> calls;  // in the engine's order
  if (cut.layout.prompt_tokens > 0) calls.push_back(expanded_call(making, cut, shape, cache));
  if (cut.layout.decodes > 0) calls.push_back(latent_call(making, cut, shape, cache));
  return {[calls = std::move(calls)](std::size_t copy) {
            at::Tensor result;
            for (const auto& call : calls) result = call(copy);
            return result;
          },
          static_cast<std::size_t>(copies),
          {}};
}

Runnable make_mla_kv_write(const Making& making) {
  const std::int64_t rank = making.dim(0), rope = making.dim(1), tokens = making.tokens();
  const std::int64_t block_size = making.count("block_size", 16);
  const std::int64_t blocks = std::max<std::int64_t>(64, 4 * ((tokens + block_size - 1) / block_size));
  at::Tensor cache = making.inputs.random("cache", {blocks, block_size, rank + rope}, making.type());
  std::vector<at::Tensor> latent = making.activations("latent", {tokens, rank});
  const at::Tensor projected = making.inputs.random("projected", {tokens, rank + rope}, making.type());
  auto slots = shuffled<std::int64_t>(static_cast<std::size_t>(blocks * block_size), kSeed);
  slots.resize(static_cast<std::size_t>(tokens));
  const std::size_t copies = latent.size();
  return {[&kernels = *making.kernels.latent(), latent = std::move(latent), k_rope = projected.narrow(1, rank, rope),
           cache, at = making.inputs.integers(slots)](std::size_t copy) mutable {
            kernels.write(latent[copy], k_rope, cache, at);
            return cache;
          },
          copies,
          {}};
}

/// Both products have views of the same projection for weights, in which the latent's side, the wider one, lies
/// contiguous. Tokens are outermost where queries are read and results written.
Runnable make_bmm(const Making& making) {
  const std::int64_t heads = making.dim(0), k = making.dim(1), n = making.dim(2), tokens = making.tokens();
  const bool to_latent = k <= n;
  const double bytes = static_cast<double>(heads * k * n) * static_cast<double>(at::elementSize(making.type()));
  const std::int64_t copies = making.inputs.copies(bytes);
  const at::Tensor all = making.inputs.random("weight", {copies, heads, std::min(k, n), std::max(k, n)}, making.type(),
                                              1 / std::sqrt(static_cast<double>(k)));
  std::vector<at::Tensor> weights = (to_latent ? all : all.transpose(2, 3)).unbind(0);
  const at::Tensor x = making.inputs.random("x", {tokens, heads, k}, making.type()).transpose(0, 1);
  at::Tensor out = to_latent ? at::empty({heads, tokens, n}, x.options())
                             : at::empty({tokens, heads, n}, x.options()).transpose(0, 1);
  return {[&kernels = *making.kernels.latent(), weights = std::move(weights), x, out](std::size_t copy) mutable {
            kernels.multiply_heads(out, x, weights[copy]);
            return out;
          },
          static_cast<std::size_t>(copies),
          {}};
}

}  // namespace dooly::profiling
