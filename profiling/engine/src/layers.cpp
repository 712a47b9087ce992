#include "layers.hpp"

#include "profiling_kernels/module_scope.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_kernels/torch_operators.hpp"

#include "oracle/weights.hpp"

#include <ATen/ops/split_with_sizes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dooly::profiling {

namespace {

using oracle::ModelConfig;

/// [tokens, heads × head_dim] as [tokens, heads, head_dim].
at::Tensor by_head(const at::Tensor& x, const c10::SymInt& heads, const c10::SymInt& head_dim) {
  return x.view_symint({x.sym_size(0), heads, head_dim});
}

AttentionShape attention_shape(const BuildContext& build, const oracle::AttentionShape& shape) {
  AttentionShape out;
  out.heads = shape.heads / build.tensor_parallel;
  out.kv_heads = oracle::kv_heads_per_gpu(shape, build.tensor_parallel);
  out.head_dim = shape.head_dim;
  const double scale = build.config.attention_scale;
  out.scale = scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(shape.head_dim));
  out.window = build.config.operator_window(shape);
  out.soft_cap = build.config.attention_soft_cap;
  out.block_size = build.dims.block_size.guard_int(__FILE__, __LINE__);
  return out;
}

}  // namespace

void check_attention(const BuildContext& build, at::ScalarType type) {
  if (build.config.mla) {
    if (const std::string why = build.kernels.refusal(latent_shape(build), type); !why.empty())
      throw ProfilingError(fmt::format("model {}: {}", build.config.name, why));
    return;
  }
  for (const oracle::LayerShape& layer : build.config.layers)
    if (const std::string why = build.kernels.refusal(attention_shape(build, layer.attention), type); !why.empty())
      throw ProfilingError(fmt::format("model {}: {}", build.config.name, why));
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  const ModuleScope scope(name, "Linear");
  return kernels->linear(x, weight, bias);
}

Linear make_linear(const BuildContext& build, std::string name, c10::SymInt inputs, c10::SymInt outputs, bool bias) {
  Linear linear{std::move(name), build.weights.matrix({outputs, std::move(inputs)}), std::nullopt, &build.kernels};
  if (bias) linear.bias = build.weights.bias(std::move(outputs));
  return linear;
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  const ModuleScope scope(name, subtracts_mean ? "LayerNorm" : "RMSNorm");
  return subtracts_mean ? kernels->layer_norm(x, weight, epsilon) : kernels->rms_norm(x, weight, epsilon);
}

void Norm::add(at::Tensor& x, at::Tensor& residual) const {
  const ModuleScope scope(name, "RMSNorm");
  kernels->add_rms_norm(x, residual, weight, epsilon);
}

Norm make_norm(const BuildContext& build, std::string name, c10::SymInt width, double factor) {
  return {std::move(name), build.weights.norm(std::move(width), factor), build.numbers.epsilon, build.config.layer_norm,
          &build.kernels};
}

std::string_view activation_name(const ModelConfig& config) {
  using Activation = ModelConfig::Activation;
  switch (config.activation) {
    case Activation::kSilu: return "silu_and_mul";
    case Activation::kGelu: return "gelu_and_mul";
    case Activation::kGeluTanh: return "gelu_tanh_and_mul";
    case Activation::kRelu: return "relu_and_mul";
    default: return {};
  }
}

// --- attention

Attention::Attention(const BuildContext& build, const oracle::AttentionShape& shape, KvPlace place,
                     at::Tensor rotary_table)
    : dims_(build.dims),
      shape_(attention_shape(build, shape)),
      place_(place),
      ranks_(build.tensor_parallel),
      across_heads_(build.config.qk_norm == ModelConfig::QkNorm::kAllHeads),
      interleaved_(build.config.rope_interleaved),
      qkv_(make_linear(build, "qkv_proj", dims_.hidden, dims_.query_width() + 2 * dims_.kv_width(),
                       build.config.qkv_bias)),
      output_(make_linear(build, "o_proj", dims_.query_width(), dims_.hidden, build.config.output_bias)),
      rotary_table_(std::move(rotary_table)),
      kernels_(build.kernels) {
  if (build.config.qk_norm == ModelConfig::QkNorm::kNone) return;
  q_norm_ = make_norm(build, "q_norm", across_heads_ ? dims_.query_width() : dims_.head_dim);
  k_norm_ = make_norm(build, "k_norm", across_heads_ ? dims_.kv_width() : dims_.head_dim);
}

at::Tensor Attention::normalised(const Norm& norm, const at::Tensor& x, const c10::SymInt& heads) const {
  if (across_heads_) return norm(x);
  return norm(by_head(x, heads, dims_.head_dim)).view_symint({x.sym_size(0), heads * dims_.head_dim});
}

at::Tensor Attention::operator()(const at::Tensor& x, const StepContext& step) const {
  const ModuleScope scope("self_attn", "Attention");
  const AttentionMetadata& metadata = step.inputs.groups.at(place_.group);
  const c10::SymInt heads = dims_.local_heads(), kv_heads = dims_.local_kv_heads();
  std::vector<at::Tensor> parts =
      at::split_with_sizes_symint(qkv_(x), {dims_.query_width(), dims_.kv_width(), dims_.kv_width()}, -1);
  at::Tensor &q = parts[0], &k = parts[1];
  const at::Tensor& v = parts[2];
  if (q_norm_) {
    q = normalised(*q_norm_, q, heads);
    k = normalised(*k_norm_, k, kv_heads);
  }
  if (rotary_table_.defined()) {
    const ModuleScope rotary("rotary_emb", "RotaryEmbedding");
    kernels_.rope(step.inputs.positions, q, k, rotary_table_, shape_.head_dim, interleaved_);
  }
  at::Tensor out;
  {
    const ModuleScope core("attn", "PagedAttention");
    at::Tensor &keys = step.cache.keys[place_.tensor], &values = step.cache.values[place_.tensor];
    kernels_.write_kv(by_head(k, kv_heads, dims_.head_dim), by_head(v, kv_heads, dims_.head_dim), keys, values,
                      metadata);
    out = kernels_.attention(by_head(q, heads, dims_.head_dim), keys, values, metadata, shape_);
  }
  out = output_(out.view_symint({x.sym_size(0), dims_.query_width()}));
  if (ranks_ > 1) all_reduce(out, ranks_);
  return out;
}

// --- MLP and experts

at::Tensor Mlp::operator()(const at::Tensor& x) const {
  const ModuleScope scope(name, "MLP");
  const at::Tensor hidden = gate_up(x);
  at::Tensor activated;
  {
    const ModuleScope act("act_fn", "GatedActivation");
    activated = kernels->gated_activation(hidden, activation);
  }
  return down(activated);
}

Mlp make_mlp(const BuildContext& build, std::string name, const c10::SymInt& width) {
  const c10::SymInt local = width / build.dims.tensor_parallel;
  return {std::move(name), make_linear(build, "gate_up_proj", build.dims.hidden, 2 * local, build.config.mlp_bias),
          make_linear(build, "down_proj", local, build.dims.hidden, build.config.mlp_bias),
          activation_name(build.config), &build.kernels};
}

Experts::Experts(const BuildContext& build)
    : top_k_(build.config.moe->experts_per_token),
      renormalise_(build.numbers.renormalise_experts),
      router_(make_linear(build, "gate", build.dims.hidden, build.dims.experts, false)),
      kernels_(build.kernels) {
  const c10::SymInt local = build.dims.expert_intermediate / build.dims.tensor_parallel;
  gate_up_ = build.weights.matrix({build.dims.experts, 2 * local, build.dims.hidden});
  down_ = build.weights.matrix({build.dims.experts, build.dims.hidden, local});
  const oracle::MoeShape& moe = *build.config.moe;
  if (moe.shared_intermediate > 0) shared_ = make_mlp(build, "shared_expert", build.dims.shared_intermediate);
  if (moe.shared_gate) shared_gate_ = make_linear(build, "shared_expert_gate", build.dims.hidden, 1, false);
}

at::Tensor Experts::operator()(const at::Tensor& x) const {
  const ModuleScope scope("mlp", "Experts");
  const at::Tensor scores = router_(x);
  at::Tensor out;
  {
    const ModuleScope routed("experts", "FusedExperts");
    const auto [weights, ids] = kernels_.top_experts(scores, top_k_, renormalise_);
    out = kernels_.experts(x, gate_up_, down_, weights, ids);
  }
  if (!shared_) return out;
  at::Tensor shared = (*shared_)(x);
  if (shared_gate_) shared = sigmoid_mul((*shared_gate_)(x), shared);
  return add_terms({out, shared});
}

// --- a layer

Layer::Layer(const BuildContext& build, std::size_t number, KvPlace place, at::Tensor rotary_table)
    : name_(fmt::format("layers.{}", number)),
      ranks_(build.tensor_parallel),
      parallel_(build.config.residual == ModelConfig::Residual::kParallel),
      input_norm_(make_norm(build, "input_layernorm", build.dims.hidden)) {
  if (build.config.mla) {
    latent_.emplace(build, place, std::move(rotary_table));
  } else {
    attention_.emplace(build, build.config.layers[number].attention, place, std::move(rotary_table));
  }
  const bool behind = build.config.norms_per_layer >= 4;
  if (behind) behind_attention_ = make_norm(build, "post_attention_layernorm", build.dims.hidden);
  if (!parallel_) {
    before_mlp_ =
        make_norm(build, behind ? "pre_feedforward_layernorm" : "post_attention_layernorm", build.dims.hidden);
  }
  if (build.config.layers[number].moe) {
    experts_.emplace(build);
  } else {
    mlp_ = make_mlp(build, "mlp", build.dims.intermediate);
  }
  if (behind) behind_mlp_ = make_norm(build, "post_feedforward_layernorm", build.dims.hidden);
}

at::Tensor Layer::attention_half(const at::Tensor& x, const StepContext& step) const {
  return latent_ ? (*latent_)(x, step) : (*attention_)(x, step);
}

at::Tensor Layer::mlp_half(const at::Tensor& x) const {
  at::Tensor out = mlp_ ? (*mlp_)(x) : (*experts_)(x);
  if (ranks_ > 1) all_reduce(out, ranks_);
  return out;
}

void Layer::operator()(at::Tensor& x, at::Tensor& residual, const StepContext& step) const {
  const ModuleScope scope(name_, "DecoderLayer");
  if (parallel_) {
    const at::Tensor hidden = input_norm_(x);
    const at::Tensor attended = attention_half(hidden, step);
    x = add_terms({x, attended, mlp_half(hidden)});
    return;
  }
  if (residual.defined()) {
    input_norm_.add(x, residual);
  } else {
    residual = x;
    x = input_norm_(x);
  }
  x = attention_half(x, step);
  if (behind_attention_) x = (*behind_attention_)(x);
  before_mlp_->add(x, residual);
  x = mlp_half(x);
  if (behind_mlp_) x = (*behind_mlp_)(x);
}

}  // namespace dooly::profiling
