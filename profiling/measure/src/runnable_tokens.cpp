#include "profiling_kernels/torch_operators.hpp"
#include "profiling_measure/shuffle.hpp"
#include "runnable_maker.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>

#include <algorithm>
#include <cmath>
#include <utility>
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

/// A call on one activation of several.
using OnActivation = std::function<at::Tensor(at::Tensor&)>;

Runnable on_each(std::vector<at::Tensor> activations, OnActivation call) {
  const std::size_t copies = activations.size();
  return {[activations = std::move(activations), call = std::move(call)](std::size_t copy) mutable {
            return call(activations[copy % activations.size()]);
          },
          copies,
          {}};
}

}  // namespace

Runnable make_linear(const Making& making) {
  const std::int64_t k = making.dim(0), n = making.dim(1);
  const auto type = making.type();
  const double bytes = static_cast<double>(k * n) * static_cast<double>(at::elementSize(type));
  std::vector<at::Tensor> weights =
      making.inputs.random("weight", {making.inputs.copies(bytes), n, k}, type, fan_in(k)).unbind(0);
  std::vector<at::Tensor> x = making.activations("x", {making.tokens(), k});
  std::optional<at::Tensor> bias;
  if (making.flag("bias")) {
    bias = making.inputs.random("bias", {n}, type);
  }
  const std::size_t copies = std::max(weights.size(), x.size());
  auto& kernels = making.kernels;
  return {[&kernels, weights = std::move(weights), x = std::move(x), bias](std::size_t copy) {
            return kernels.linear(x[copy % x.size()], weights[copy % weights.size()], bias);
          },
          copies,
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
  const at::Tensor weight = making.inputs.random("weight", {making.dim(0)}, making.type());
  auto& kernels = making.kernels;
  if (!making.flag("residual")) {
    return on_each(making.activations("x", sizes),
                   [&kernels, weight](at::Tensor& x) { return kernels.rms_norm(x, weight, kEpsilon); });
  }
  at::Tensor residual = making.inputs.random("residual", sizes, making.type());
  return on_each(making.activations("x", sizes), [&kernels, residual, weight](at::Tensor& x) mutable {
    kernels.add_rms_norm(x, residual, weight, kEpsilon);
    return x;
  });
}

Runnable make_layer_norm(const Making& making) {
  const at::Tensor weight = making.inputs.random("weight", {making.dim(0)}, making.type());
  auto& kernels = making.kernels;
  return on_each(making.activations("x", {making.tokens(), making.dim(0)}),
                 [&kernels, weight](at::Tensor& x) { return kernels.layer_norm(x, weight, kEpsilon); });
}

bool has_compiled_head_norms(const oracle::OperatorKey& key) {
  return key.kind == "qk_norm" && key.family == "inductor" && !flag_of(key, "layer_norm");
}

HeadShape head_shape(const oracle::OperatorKey& key) {
  const auto dim = [&](std::size_t i) { return static_cast<std::int64_t>(key.dims.at(i)); };
  return {dim(0), dim(1), dim(2), flag_of(key, "across_heads")};
}

Runnable make_qk_norm(const Making& making) {
  const std::int64_t heads = making.dim(0), kv_heads = making.dim(1), width = making.dim(2), tokens = making.tokens();
  const bool across = making.flag("across_heads"), layer_norm = making.flag("layer_norm");
  const auto weight = [&](const char* name, std::int64_t count) {
    return making.inputs.random(name, {across ? count * width : width}, making.type());
  };
  const auto part = [=](const at::Tensor& qkv, std::int64_t from, std::int64_t count) {
    const at::Tensor slice = qkv.narrow(1, from * width, count * width);
    return across ? slice : slice.view({tokens, count, width});
  };
  auto& kernels = making.kernels;
  if (has_compiled_head_norms(making.key)) {
    // The engine's compiler makes one kernel that reads queries and keys and leaves a number per head; multiplying by
    // it happens where the rotary embedding reads them anyway (seen in the code that it generates for vLLM 0.26).
    const HeadShape shape = head_shape(making.key);
    std::string choice = kernels.choose(shape);
    Runnable runnable = on_each(making.activations("qkv", {tokens, (heads + 2 * kv_heads) * width}),
                                [&kernels, shape](at::Tensor& qkv) { return kernels.head_norms(qkv, shape).first; });
    runnable.note = std::move(choice);
    return runnable;
  }
  return on_each(making.activations("qkv", {tokens, (heads + 2 * kv_heads) * width}),
                 [&kernels, part, layer_norm, heads, kv_heads, q_weight = weight("q_weight", heads),
                  k_weight = weight("k_weight", kv_heads)](at::Tensor& qkv) {
                   const at::Tensor q = part(qkv, 0, heads), k = part(qkv, heads, kv_heads);
                   if (layer_norm) {
                     kernels.layer_norm(k, k_weight, kEpsilon);
                     return kernels.layer_norm(q, q_weight, kEpsilon);
                   }
                   kernels.rms_norm(k, k_weight, kEpsilon);
                   return kernels.rms_norm(q, q_weight, kEpsilon);
                 });
}

Runnable make_rope(const Making& making) {
  const std::int64_t heads = making.dim(0), kv_heads = making.dim(1), width = making.dim(2), tokens = making.tokens();
  const at::Tensor angles = making.inputs.random("angles", {kPositions, width / 2}, at::kFloat);
  const at::Tensor cos_sin = at::cat({angles.cos(), angles.sin()}, 1).to(making.type());
  const at::Tensor positions = some_integers(making.inputs, tokens, kPositions, kSeed);
  const bool interleaved = making.flag("interleaved");
  auto& kernels = making.kernels;
  return on_each(making.activations("qkv", {tokens, (heads + 2 * kv_heads) * width}), [=, &kernels](at::Tensor& qkv) {
    at::Tensor q = qkv.narrow(1, 0, heads * width), k = qkv.narrow(1, heads * width, kv_heads * width);
    kernels.rope(positions, q, k, cos_sin, width, interleaved);
    return q;
  });
}

Runnable make_gated_activation(const Making& making) {
  const bool tanh = making.text("approximate", "none") == "tanh";
  std::string kind = tanh ? "gelu_tanh_and_mul" : making.key.kind;
  auto& kernels = making.kernels;
  return on_each(making.activations("x", {making.tokens(), 2 * making.dim(0)}),
                 [&kernels, kind = std::move(kind)](at::Tensor& x) { return kernels.gated_activation(x, kind); });
}

Runnable make_add(const Making& making) {
  register_torch_operators();
  const Inputs::Sizes sizes = {making.tokens(), making.dim(0)};
  std::vector<at::Tensor> others;
  for (std::int64_t i = 1; i < making.count("terms", 2); ++i) {
    others.push_back(making.inputs.random("term " + std::to_string(i), sizes, making.type()));
  }
  return on_each(making.activations("x", sizes), [others = std::move(others)](at::Tensor& x) {
    std::vector<at::Tensor> terms = others;
    terms.push_back(x);
    return add_terms(terms);
  });
}

Runnable make_soft_cap(const Making& making) {
  constexpr double kUsualCap = 30;
  register_torch_operators();
  return on_each(making.activations("x", {making.tokens(), making.dim(0)}),
                 [](at::Tensor& x) { return soft_cap(x, kUsualCap); });
}

Runnable make_sigmoid_mul(const Making& making) {
  const Inputs::Sizes sizes = {making.tokens(), making.dim(0)};
  const at::Tensor gate = making.inputs.random("gate", sizes, making.type());
  return on_each(making.activations("x", sizes), [gate](at::Tensor& x) { return x.mul(at::sigmoid(gate)); });
}

Runnable make_sample(const Making& making) {
  auto& kernels = making.kernels;
  return on_each(making.activations("logits", {making.tokens(), making.dim(0)}),
                 [&kernels](at::Tensor& logits) { return kernels.sample(logits); });
}

}  // namespace dooly::profiling
