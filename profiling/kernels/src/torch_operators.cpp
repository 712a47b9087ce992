#include "profiling_kernels/torch_operators.hpp"

#include "torch_attention.hpp"
#include "torch_latent.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <string_view>
#include <tuple>
#include <vector>

namespace dooly::profiling {

namespace {

void add_rms_norm(at::Tensor& x, at::Tensor& residual, const at::Tensor& weight, double epsilon) {
  residual.add_(x);
  x.copy_(at::rms_norm(residual, {weight.size(0)}, weight, epsilon));
}

/// `x` [T, heads × head_dim] or [T, heads, head_dim]; `cosine`, `sine` [T, 1, rotary / 2].
void rotate(at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine, std::int64_t head_dim, bool interleaved) {
  const std::int64_t half = cosine.size(2);
  const at::Tensor apart = x.dim() == 3 ? x : x.unflatten(1, {x.size(1) / head_dim, head_dim});
  const at::Tensor heads = apart.narrow(2, 0, 2 * half);
  at::Tensor first = interleaved ? heads.slice(2, 0, 2 * half, 2) : heads.narrow(2, 0, half);
  at::Tensor second = interleaved ? heads.slice(2, 1, 2 * half, 2) : heads.narrow(2, half, half);
  const at::Tensor rotated = first * cosine - second * sine;
  second.copy_(second * cosine + first * sine);
  first.copy_(rotated);
}

void rope(const at::Tensor& positions, at::Tensor& q, at::Tensor& k, const at::Tensor& cos_sin, std::int64_t head_dim,
          bool interleaved) {
  const at::Tensor rows = cos_sin.index_select(0, positions).unsqueeze(1);
  const std::int64_t half = cos_sin.size(1) / 2;
  const at::Tensor cosine = rows.narrow(2, 0, half), sine = rows.narrow(2, half, half);
  rotate(q, cosine, sine, head_dim, interleaved);
  rotate(k, cosine, sine, head_dim, interleaved);
}

at::Tensor activated(const at::Tensor& x, std::string_view kind) {
  if (kind == "silu_and_mul") return at::silu(x);
  if (kind == "gelu_and_mul") return at::gelu(x, "none");
  if (kind == "gelu_tanh_and_mul") return at::gelu(x, "tanh");
  if (kind == "relu_and_mul") return at::relu(x);
  TORCH_CHECK(false, "gated_activation: unknown kind '", kind,
              "'; known: silu_and_mul, gelu_and_mul, gelu_tanh_and_mul, relu_and_mul");
}

at::Tensor gated_activation(const at::Tensor& x, std::string_view kind) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return activated(halves[0], kind).mul_(halves[1]);
}

void write_kv(const at::Tensor& k, const at::Tensor& v, at::Tensor& k_cache, at::Tensor& v_cache,
              const at::Tensor& slots) {
  k_cache.view({-1, k.size(1), k.size(2)}).index_copy_(0, slots, k);
  v_cache.view({-1, v.size(1), v.size(2)}).index_copy_(0, slots, v);
}

std::tuple<at::Tensor, at::Tensor> topk_softmax(const at::Tensor& logits, std::int64_t top_k, bool renormalise) {
  const at::Tensor shares = at::softmax(logits.to(at::kFloat), -1);
  auto [weights, ids] = at::topk(shares, top_k, -1);
  if (renormalise) weights = weights / weights.sum(-1, true);
  return {weights, ids.to(at::kInt)};
}

/// Expert by expert over the tokens that chose it, in ascending order, so that sums do not depend on the device.
at::Tensor fused_experts(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down,
                         const at::Tensor& weights, const at::Tensor& ids) {
  const at::Tensor chosen = ids.flatten().to(at::kLong);
  const at::Tensor order = chosen.argsort(true, 0, false);
  const at::Tensor counts = at::bincount(chosen, {}, gate_up.size(0)).cpu();
  const at::Tensor tokens = order.floor_divide(ids.size(1));
  const at::Tensor shares = weights.flatten().index_select(0, order).unsqueeze(1);
  at::Tensor sum = at::zeros_like(x, x.options().dtype(at::kFloat));
  std::int64_t begin = 0;
  for (std::int64_t expert = 0; expert < gate_up.size(0); ++expert) {
    const std::int64_t count = counts.const_data_ptr<std::int64_t>()[expert];
    if (count == 0) continue;
    const at::Tensor rows = tokens.narrow(0, begin, count);
    const at::Tensor hidden = at::linear(x.index_select(0, rows), gate_up.select(0, expert));
    const at::Tensor out = at::linear(gated_activation(hidden, "silu_and_mul"), down.select(0, expert));
    sum.index_add_(0, rows, out.to(at::kFloat) * shares.narrow(0, begin, count));
    begin += count;
  }
  return sum.to(x.scalar_type());
}

at::Tensor sum_terms(at::TensorList terms) {
  TORCH_CHECK(terms.size() >= 2, "add_terms: needs two terms, got ", terms.size());
  at::Tensor sum = terms[0] + terms[1];
  for (std::size_t i = 2; i < terms.size(); ++i) sum.add_(terms[i]);
  return sum;
}

at::Tensor multiply_by_sigmoid(const at::Tensor& gate, const at::Tensor& x) { return at::sigmoid(gate) * x; }

at::Tensor cap_softly(const at::Tensor& x, double cap) { return at::tanh(x / cap).mul_(cap); }

at::Tensor greedy_sample(const at::Tensor& logits) { return logits.to(at::kFloat).argmax(-1); }

void all_reduce_alone(at::Tensor& x, std::int64_t ranks) {
  TORCH_CHECK(x.is_contiguous() && ranks >= 1, "all_reduce_: needs a contiguous tensor and at least one rank");
}

at::Tensor all_gather_alone(const at::Tensor& x, std::int64_t ranks) {
  return at::cat(std::vector<at::Tensor>(static_cast<std::size_t>(ranks), x), -1);
}

void define(torch::Library& library) {
  library.def("add_rms_norm_(Tensor(a!) x, Tensor(b!) residual, Tensor weight, float epsilon) -> ()");
  library.def(
      "rope_(Tensor positions, Tensor(a!) q, Tensor(b!) k, Tensor cos_sin, int head_dim, bool interleaved) -> ()");
  library.def("gated_activation(Tensor x, str kind) -> Tensor");
  library.def("write_kv_(Tensor k, Tensor v, Tensor(a!) k_cache, Tensor(b!) v_cache, Tensor slot_mapping) -> ()");
  library.def("topk_softmax(Tensor logits, int top_k, bool renormalise) -> (Tensor, Tensor)");
  library.def("fused_experts(Tensor x, Tensor gate_up, Tensor down, Tensor weights, Tensor ids) -> Tensor");
  library.def("add_terms(Tensor[] terms) -> Tensor");
  library.def("soft_cap(Tensor x, float cap) -> Tensor");
  library.def("sigmoid_mul(Tensor gate, Tensor x) -> Tensor");
  library.def("greedy_sample(Tensor logits) -> Tensor");
  library.def("all_reduce_(Tensor(a!) x, int ranks) -> ()");
  library.def("all_gather(Tensor x, int ranks) -> Tensor");
  library.def(
      "paged_attention(Tensor q, Tensor k_cache, Tensor v_cache, Tensor query_start, Tensor sequence_lengths, "
      "Tensor block_table, int heads, int kv_heads, int head_dim, float scale, int window, float soft_cap) -> Tensor");
}

void implement(torch::Library& library) {
  const auto on_any_device = [&](const char* name, auto* function) {
    library.impl(name, torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, function));
  };
  on_any_device("add_rms_norm_", add_rms_norm);
  on_any_device("rope_", rope);
  on_any_device("gated_activation", gated_activation);
  on_any_device("write_kv_", write_kv);
  on_any_device("topk_softmax", topk_softmax);
  on_any_device("fused_experts", fused_experts);
  on_any_device("add_terms", sum_terms);
  on_any_device("soft_cap", cap_softly);
  on_any_device("sigmoid_mul", multiply_by_sigmoid);
  on_any_device("greedy_sample", greedy_sample);
  on_any_device("all_reduce_", all_reduce_alone);
  on_any_device("all_gather", all_gather_alone);
  on_any_device("paged_attention", paged_attention_composed);
  library.impl("paged_attention", torch::dispatch(c10::DispatchKey::CPU, paged_attention_cpu));
}

template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  register_torch_operators();
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace

void register_torch_operators() {
  // A function's static and no global one: nothing of a static library is dropped because nobody names it.
  static torch::Library* const library = [] {
    auto* made = new torch::Library(torch::Library::FRAGMENT, "dooly", std::nullopt, __FILE__, __LINE__);
    define(*made);
    implement(*made);
    add_latent_operators(*made);
    return made;  // for the life of the process: the dispatcher may be gone before our statics are
  }();
  (void)library;
}

at::Tensor add_terms(at::TensorList terms) {
  static const auto op = find<at::Tensor(at::TensorList)>("dooly::add_terms");
  return op.call(terms);
}

at::Tensor soft_cap(const at::Tensor& x, double cap) {
  static const auto op = find<at::Tensor(const at::Tensor&, double)>("dooly::soft_cap");
  return op.call(x, cap);
}

at::Tensor sigmoid_mul(const at::Tensor& gate, const at::Tensor& x) {
  static const auto op = find<at::Tensor(const at::Tensor&, const at::Tensor&)>("dooly::sigmoid_mul");
  return op.call(gate, x);
}

void all_reduce(at::Tensor& x, std::int64_t ranks) {
  static const auto op = find<void(at::Tensor&, std::int64_t)>("dooly::all_reduce_");
  op.call(x, ranks);
}

at::Tensor all_gather(const at::Tensor& x, std::int64_t ranks) {
  static const auto op = find<at::Tensor(const at::Tensor&, std::int64_t)>("dooly::all_gather");
  return op.call(x, ranks);
}

}  // namespace dooly::profiling
