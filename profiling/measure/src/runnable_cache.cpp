#include "paged_batch.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/attention_batch.hpp"
#include "profiling_measure/routing.hpp"
#include "profiling_measure/shuffle.hpp"
#include "runnable_maker.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dooly::profiling {

namespace {

constexpr std::uint64_t kSeed = 5;

/// Keys and values of a paged cache, as vLLM 0.26 lays them out: [blocks, block size, KV heads, keys then values].
struct PagedCache {
  at::Tensor keys, values;
};

PagedCache make_cache(const Making& making, std::int64_t blocks, std::int64_t block_size, std::int64_t kv_heads,
                      std::int64_t head_dim) {
  const at::Tensor both = making.inputs.random("cache", {blocks, block_size, kv_heads, 2 * head_dim}, making.type());
  return {both.narrow(3, 0, head_dim), both.narrow(3, head_dim, head_dim)};
}

/// The longest sequence that the kernel is told of. A captured graph serves all lengths, so there it is the longest
/// that the model allows: beyond a window, if it has one, and the kernel of windows runs though contexts be short.
std::uint64_t told_longest(const AttentionBatch& batch, const AttentionShape& shape) {
  const bool is_captured = batch.max_query == 1 && batch.tokens <= static_cast<std::uint64_t>(kGraphTokens);
  const std::uint64_t beyond = shape.window > 0 ? static_cast<std::uint64_t>(shape.window) + 1 : 0;
  return is_captured ? std::max(batch.max_sequence, beyond) : batch.max_sequence;
}

/// The same routing over other experts of the layer, as many times as it takes to read weights from memory each time.
std::vector<at::Tensor> rotated_ids(const Making& making, const Routing& routing, double layer_bytes) {
  const std::vector<std::int32_t> first = expert_ids(routing);
  const auto loads = expert_loads(routing);
  const auto in_use =
      static_cast<std::uint64_t>(std::count_if(loads.begin(), loads.end(), [](auto n) { return n > 0; }));
  const double read = layer_bytes * static_cast<double>(in_use) / static_cast<double>(routing.experts);
  const auto wanted = static_cast<std::uint64_t>(making.inputs.copies(read));
  const std::uint64_t count = std::max<std::uint64_t>(1, std::min(wanted, routing.experts / in_use));
  std::vector<at::Tensor> ids;
  for (std::uint64_t copy = 0; copy < count; ++copy) {
    std::vector<std::int32_t> moved = first;
    for (auto& id : moved) {
      id = static_cast<std::int32_t>((static_cast<std::uint64_t>(id) + copy * in_use) % routing.experts);
    }
    ids.push_back(making.inputs.integers(moved).view({making.tokens(), making.dim(3)}));
  }
  return ids;
}

std::int64_t count_of(const oracle::OperatorKey& key, const char* name, std::int64_t usual) {
  return static_cast<std::int64_t>(number_of(key, name, static_cast<double>(usual)));
}

}  // namespace

AttentionShape attention_shape(const oracle::OperatorKey& key) {
  AttentionShape shape;
  shape.heads = static_cast<std::int64_t>(key.dims.at(0));
  shape.kv_heads = static_cast<std::int64_t>(key.dims.at(1));
  shape.head_dim = static_cast<std::int64_t>(key.dims.at(2));
  shape.scale = number_of(key, "scale", 1 / std::sqrt(static_cast<double>(shape.head_dim)));
  shape.window = count_of(key, "window", 0);
  shape.soft_cap = number_of(key, "soft_cap", 0);
  shape.block_size = count_of(key, "block_size", 16);
  return shape;
}

ExpertShape expert_shape(const oracle::OperatorKey& key) {
  ExpertShape shape;
  shape.hidden = static_cast<std::int64_t>(key.dims.at(0));
  shape.width = static_cast<std::int64_t>(key.dims.at(1));
  shape.experts = static_cast<std::int64_t>(key.dims.at(2));
  shape.top_k = static_cast<std::int64_t>(key.dims.at(3));
  return shape;
}

Runnable make_attention(const Making& making) {
  AttentionBatch batch = attention_batch(making.point);
  const AttentionShape shape = attention_shape(making.key);
  batch.max_sequence = told_longest(batch, shape);
  const auto block_size = static_cast<std::uint64_t>(shape.block_size);
  const std::int64_t row = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
  const double token_bytes =
      2.0 * static_cast<double>(shape.kv_heads * shape.head_dim) * static_cast<double>(at::elementSize(making.type()));
  const std::int64_t copies = making.inputs.copies(tokens_read(batch, shape.window) * token_bytes);
  const std::uint64_t blocks = blocks_of(batch, block_size) * static_cast<std::uint64_t>(copies);
  const PagedCache cache =
      make_cache(making, static_cast<std::int64_t>(blocks), shape.block_size, shape.kv_heads, shape.head_dim);
  const auto order = shuffled<std::int32_t>(blocks, kSeed);
  std::vector<AttentionMetadata> places;
  std::size_t next = 0;
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    places.push_back(place(batch, block_size, order, next, making.inputs));
    // vLLM plans the split ahead only for models whose layers all have one window; windows come in mixed models.
    if (shape.window == 0) {
      places.back().schedule = making.kernels.schedule(places.back(), shape, making.type());
    }
  }
  const auto tokens = static_cast<std::int64_t>(batch.tokens);
  const at::Tensor q = making.inputs.random("qkv", {tokens, row}, making.type())
                           .narrow(1, 0, shape.heads * shape.head_dim)
                           .view({tokens, shape.heads, shape.head_dim});
  auto& kernels = making.kernels;
  return {[&kernels, q, cache, places = std::move(places), shape](std::size_t copy) {
            return kernels.attention(q, cache.keys, cache.values, places[copy], shape);
          },
          static_cast<std::size_t>(copies),
          {}};
}

Runnable make_kv_write(const Making& making) {
  const std::int64_t kv_heads = making.dim(0), width = making.dim(1), tokens = making.tokens();
  const std::int64_t block_size = making.count("block_size", 16);
  const std::int64_t blocks = std::max<std::int64_t>(64, 4 * ((tokens + block_size - 1) / block_size));
  PagedCache cache = make_cache(making, blocks, block_size, kv_heads, width);
  std::vector<at::Tensor> kv = making.activations("kv", {tokens, 2 * kv_heads * width});
  auto slots = shuffled<std::int64_t>(static_cast<std::size_t>(blocks * block_size), kSeed);
  slots.resize(static_cast<std::size_t>(tokens));
  AttentionMetadata metadata;
  metadata.slot_mapping = making.inputs.integers(slots);
  auto& kernels = making.kernels;
  const std::size_t copies = kv.size();
  const auto part = [tokens, kv_heads, width](const at::Tensor& both, std::int64_t from) {
    return both.narrow(1, from * kv_heads * width, kv_heads * width).view({tokens, kv_heads, width});
  };
  return {[&kernels, kv = std::move(kv), part, cache, metadata](std::size_t copy) mutable {
            kernels.write_kv(part(kv[copy], 0), part(kv[copy], 1), cache.keys, cache.values, metadata);
            return cache.keys;
          },
          copies,
          {}};
}

Runnable make_topk_softmax(const Making& making) {
  std::vector<at::Tensor> logits = making.activations("logits", {making.tokens(), making.dim(0)});
  const std::int64_t top_k = making.dim(1);
  const std::size_t copies = logits.size();
  auto& kernels = making.kernels;
  return {[&kernels, logits = std::move(logits), top_k](std::size_t copy) {
            return kernels.top_experts(logits[copy], top_k, true).first;
          },
          copies,
          {}};
}

Runnable make_experts(const Making& making) {
  const auto [experts, width, hidden, top_k] = expert_shape(making.key);
  Routing routing;
  routing.tokens = making.point[0];
  routing.activated = making.point[1];
  routing.law = making.point[2];
  routing.experts = static_cast<std::uint64_t>(experts);
  routing.top_k = static_cast<std::uint64_t>(top_k);
  const at::Tensor weights =
      making.inputs.random("routing weights", {making.tokens(), top_k}, at::kFloat).abs().clamp_min(0.1);
  const at::Tensor x = making.inputs.random("x", {making.tokens(), hidden}, making.type());
  const auto fan_in = [](std::int64_t size) { return 1 / std::sqrt(static_cast<double>(size)); };
  const double layer_bytes =
      3.0 * static_cast<double>(experts * hidden * width) * static_cast<double>(at::elementSize(making.type()));
  const std::int64_t copies = making.inputs.copies(layer_bytes);
  const std::vector<at::Tensor> ids = rotated_ids(making, routing, layer_bytes);
  auto gate_up = making.inputs.random("gate_up", {copies, experts, 2 * width, hidden}, making.type(), fan_in(hidden));
  auto down = making.inputs.random("down", {copies, experts, hidden, width}, making.type(), fan_in(width));
  auto& kernels = making.kernels;
  return {[&kernels, x, gate_up = gate_up.unbind(0), down = down.unbind(0), weights, ids](std::size_t copy) {
            const std::size_t layer = copy / ids.size();
            return kernels.experts(x, gate_up[layer], down[layer], weights, ids[copy % ids.size()]);
          },
          static_cast<std::size_t>(copies) * ids.size(),
          {}};
}

}  // namespace dooly::profiling
