#include "profiling_kernels/torch_operators.hpp"
#include "profiling_measure/shuffle.hpp"
#include "runnable_maker.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>

#include <cmath>
#include <vector>

namespace dooly::profiling {

namespace {

constexpr double kEpsilon = 1e-5;
constexpr std::int64_t kPositions = 8192;
constexpr std::uint64_t kSeed = 3;

double fan_in(std::int64_t width) { return 1 / std::sqrt(static_cast<double>(width)); }

/// Token ids, or positions, below `bound`.
at::Tensor some_integers(const Inputs& inputs, std::int64_t count, std::int64_t bound, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (auto& value : values) {
    value = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  }
  return inputs.integers(values);
}

Runnable once(std::function<at::Tensor(std::size_t)> run) { return {std::move(run), 1, {}}; }

}  // namespace

Runnable make_linear(const Making& making) {
  const std::int64_t k = making.dim(0), n = making.dim(1);
  const auto type = making.type();
  const std::int64_t copies =
      making.inputs.copies(static_cast<double>(k * n) * static_cast<double>(at::elementSize(type)));
  const at::Tensor weights = making.inputs.random("weight", {copies, n, k}, type, fan_in(k));
  const at::Tensor x = making.inputs.random("x", {making.tokens(), k}, type);
  std::optional<at::Tensor> bias;
  if (making.flag("bias")) {
    bias = making.inputs.random("bias", {n}, type);
  }
  std::vector<at::Tensor> each = weights.unbind(0);
  auto& kernels = making.kernels;
  return {[&kernels, each = std::move(each), x, bias](std::size_t copy) { return kernels.linear(x, each[copy], bias); },
          static_cast<std::size_t>(copies),
          {}};
}

Runnable make_embedding(const Making& making) {
  const std::int64_t rows = making.dim(0), hidden = making.dim(1), tokens = making.tokens();
  const at::Tensor table = making.inputs.random("table", {rows, hidden}, making.type());
  const std::int64_t copies = making.inputs.copies(static_cast<double>(tokens * hidden) * 2);
  std::vector<at::Tensor> ids;
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    ids.push_back(some_integers(making.inputs, tokens, rows, kSeed + static_cast<std::uint64_t>(copy)));
  }
  auto& kernels = making.kernels;
  return {[&kernels, table, ids = std::move(ids)](std::size_t copy) { return kernels.embedding(table, ids[copy]); },
          static_cast<std::size_t>(copies),
          {}};
}

Runnable make_rms_norm(const Making& making) {
  const Inputs::Sizes sizes = {making.tokens(), making.dim(0)};
  at::Tensor x = making.inputs.random("x", sizes, making.type());
  const at::Tensor weight = making.inputs.random("weight", {making.dim(0)}, making.type());
  auto& kernels = making.kernels;
  if (!making.flag("residual")) {
    return once([&kernels, x, weight](std::size_t) { return kernels.rms_norm(x, weight, kEpsilon); });
  }
  at::Tensor residual = making.inputs.random("residual", sizes, making.type());
  return once([&kernels, x, residual, weight](std::size_t) mutable {
    kernels.add_rms_norm(x, residual, weight, kEpsilon);
    return x;
  });
}

Runnable make_layer_norm(const Making& making) {
  const at::Tensor x = making.inputs.random("x", {making.tokens(), making.dim(0)}, making.type());
  const at::Tensor weight = making.inputs.random("weight", {making.dim(0)}, making.type());
  auto& kernels = making.kernels;
  return once([&kernels, x, weight](std::size_t) { return kernels.layer_norm(x, weight, kEpsilon); });
}

Runnable make_qk_norm(const Making& making) {
  const std::int64_t heads = making.dim(0), kv_heads = making.dim(1), width = making.dim(2), tokens = making.tokens();
  const bool across = making.flag("across_heads"), layer_norm = making.flag("layer_norm");
  const at::Tensor qkv = making.inputs.random("qkv", {tokens, (heads + 2 * kv_heads) * width}, making.type());
  const auto part = [&](std::int64_t from, std::int64_t count) {
    const at::Tensor slice = qkv.narrow(1, from * width, count * width);
    return across ? slice : slice.view({tokens, count, width});
  };
  const auto weight = [&](const char* name, std::int64_t count) {
    return making.inputs.random(name, {across ? count * width : width}, making.type());
  };
  auto& kernels = making.kernels;
  return once([&kernels, layer_norm, q = part(0, heads), k = part(heads, kv_heads),
               q_weight = weight("q_weight", heads), k_weight = weight("k_weight", kv_heads)](std::size_t) {
    if (layer_norm) {
      const at::Tensor normed = kernels.layer_norm(q, q_weight, kEpsilon);
      kernels.layer_norm(k, k_weight, kEpsilon);
      return normed;
    }
    at::Tensor normed = kernels.rms_norm(q, q_weight, kEpsilon);
    kernels.rms_norm(k, k_weight, kEpsilon);
    return normed;
  });
}

Runnable make_rope(const Making& making) {
  const std::int64_t heads = making.dim(0), kv_heads = making.dim(1), width = making.dim(2), tokens = making.tokens();
  const at::Tensor qkv = making.inputs.random("qkv", {tokens, (heads + 2 * kv_heads) * width}, making.type());
  at::Tensor q = qkv.narrow(1, 0, heads * width), k = qkv.narrow(1, heads * width, kv_heads * width);
  const at::Tensor angles = making.inputs.random("angles", {kPositions, width / 2}, at::kFloat);
  const at::Tensor cos_sin = at::cat({angles.cos(), angles.sin()}, 1).to(making.type());
  const at::Tensor positions = some_integers(making.inputs, tokens, kPositions, kSeed);
  const bool interleaved = making.flag("interleaved");
  auto& kernels = making.kernels;
  return once([&kernels, positions, q, k, cos_sin, width, interleaved](std::size_t) mutable {
    kernels.rope(positions, q, k, cos_sin, width, interleaved);
    return q;
  });
}

Runnable make_gated_activation(const Making& making) {
  const at::Tensor x = making.inputs.random("x", {making.tokens(), 2 * making.dim(0)}, making.type());
  const bool tanh = making.text("approximate", "none") == "tanh";
  std::string kind = tanh ? "gelu_tanh_and_mul" : making.key.kind;
  auto& kernels = making.kernels;
  return once([&kernels, x, kind = std::move(kind)](std::size_t) { return kernels.gated_activation(x, kind); });
}

Runnable make_add(const Making& making) {
  register_torch_operators();
  std::vector<at::Tensor> terms;
  for (std::int64_t i = 0; i < making.count("terms", 2); ++i) {
    terms.push_back(making.inputs.random("term " + std::to_string(i), {making.tokens(), making.dim(0)}, making.type()));
  }
  return once([terms = std::move(terms)](std::size_t) { return add_terms(terms); });
}

Runnable make_soft_cap(const Making& making) {
  constexpr double kUsualCap = 30;
  register_torch_operators();
  const at::Tensor x = making.inputs.random("x", {making.tokens(), making.dim(0)}, making.type());
  return once([x](std::size_t) { return soft_cap(x, kUsualCap); });
}

Runnable make_sigmoid_mul(const Making& making) {
  const Inputs::Sizes sizes = {making.tokens(), making.dim(0)};
  const at::Tensor x = making.inputs.random("x", sizes, making.type());
  const at::Tensor gate = making.inputs.random("gate", sizes, making.type());
  return once([x, gate](std::size_t) { return x.mul(at::sigmoid(gate)); });
}

Runnable make_sample(const Making& making) {
  const at::Tensor logits = making.inputs.random("logits", {making.tokens(), making.dim(0)}, making.type());
  auto& kernels = making.kernels;
  return once([&kernels, logits](std::size_t) { return kernels.sample(logits); });
}

}  // namespace dooly::profiling
