// The halves of a layer: attention, and MLP or experts.
#include "oracle/kv_layout.hpp"
#include "oracle/weights.hpp"
#include "planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dooly::oracle {

namespace {

std::string text_of(ModelConfig::Activation activation) {
  using Activation = ModelConfig::Activation;
  switch (activation) {
    case Activation::kSilu: return "silu";
    case Activation::kGelu: return "gelu";
    case Activation::kGeluTanh: return "gelu_tanh";
    case Activation::kGeluNew: return "gelu_new";
    case Activation::kRelu: return "relu";
    case Activation::kSwigluOai: return "swigluoai";
  }
  return "silu";
}

}  // namespace

std::string_view attention_family(const PlanBackend& backend, std::uint64_t head_dim) {
  constexpr std::uint64_t kWidestFa3Head = 256;  // the engine takes FlashAttention 4 for wider ones
  return backend.name == "fa3" && head_dim > kWidestFa3Head ? "fa4" : backend.name;
}

// --- attention over heads

void Planner::add_attention(const LayerShape& layer) {
  const AttentionShape& shape = layer.attention;
  const double heads = shape.heads / tp_;
  const double kv_heads = kv_heads_per_gpu(shape, tp_);
  const double dim = shape.head_dim;
  const double qkv = (heads + (shape.value_is_key ? 1 : 2) * kv_heads) * dim;
  build_.linear("qkv_proj", 1, linear_, model_.hidden, qkv, model_.qkv_bias);
  add_qk_norm(layer);
  const double rotary = rotary_dim(layer);
  if (rotary > 0) build_.rope("rope", 1, heads, kv_heads, rotary, model_.rope_interleaved);
  build_.kv_write(1, kv_heads, dim);
  AttentionWork work;
  work.heads = static_cast<std::uint64_t>(heads);
  work.kv_heads = static_cast<std::uint64_t>(kv_heads);
  work.head_dim = shape.head_dim;
  work.scale = model_.attention_scale;
  work.soft_cap = model_.attention_soft_cap;
  work.sinks = model_.attention_sinks;
  work.block_size = settings_.block_size;
  std::string name = "attention";
  if (work.window = model_.operator_window(shape); work.window > 0) {
    name = fmt::format("attention (window {})", work.window);
  } else if (shape.kind == AttentionKind::kChunkedLocal) {
    work.chunk = shape.window;
    name = fmt::format("attention (chunks of {})", shape.window);
  }
  // QKᵀ and PV: a multiplication and an addition for each number of a head, twice.
  build_.attention(name, 1,
                   attention_key(build_.dtype(), build_.cache(), work, attention_family(backend_, shape.head_dim)),
                   4 * heads * dim, 4 * heads * dim, kv_bytes_per_token(model_, layer, tp_, kv_dtype_));
  build_.linear("o_proj", 1, linear_, heads * dim, model_.hidden, model_.output_bias);
}

double Planner::rotary_dim(const LayerShape& layer) const {
  const AttentionShape& shape = layer.attention;
  if (shape.kind == AttentionKind::kFull && !model_.rope_on_full) return 0;
  return std::min(model_.rotary_dim, shape.head_dim);
}

void Planner::add_qk_norm(const LayerShape& layer) {
  if (model_.qk_norm == ModelConfig::QkNorm::kNone && !model_.weightless_qk_norm) return;
  if (model_.weightless_qk_norm && rotary_dim(layer) == 0) return;  // Llama 4 normalises what it rotates
  QkNormWork work;
  work.heads = layer.attention.heads / tp_;
  work.kv_heads = kv_heads_per_gpu(layer.attention, tp_);
  work.head_dim = layer.attention.head_dim;
  work.across_heads = model_.qk_norm == ModelConfig::QkNorm::kAllHeads;
  work.layer_norm = model_.layer_norm;
  work.values = model_.value_norm;
  work.weightless = model_.weightless_qk_norm;
  build_.qk_norm(1, work);
}

// --- latent attention

void Planner::add_latent_attention(const LayerShape& layer) {
  const MlaShape& mla = *model_.mla;
  const double heads = layer.attention.heads / tp_;
  const double query = heads * (mla.qk_nope_dim + mla.qk_rope_dim);
  const double latent = double(mla.kv_lora_rank) + mla.qk_rope_dim;
  const bool sparse = mla.index_heads > 0;
  add_query(query);
  norm_of("kv_a_norm", mla.kv_lora_rank);
  build_.rope("rope", 1, heads, 1, mla.qk_rope_dim, model_.rope_interleaved);
  build_.latent_write(1, mla);
  if (sparse) add_indexer(layer);
  // Prefill expands the latent to heads; decode multiplies with the absorbed projections and stays in the latent.
  // With an indexer every query picks its own tokens, so prefill stays in the latent too.
  if (!sparse) {
    build_.linear("kv_b_proj", 1, linear_, mla.kv_lora_rank, heads * (mla.qk_nope_dim + mla.v_dim), false).binding =
        Binding::kPrefillTokens;
  }
  const Binding absorbed = sparse ? Binding::kTokens : Binding::kDecodeTokens;
  build_.bmm("absorbed_k_proj", 1, absorbed, heads, mla.qk_nope_dim, mla.kv_lora_rank);
  const double decode = 2 * heads * (latent + mla.kv_lora_rank);
  const double prefill = sparse ? decode : 2 * (query + heads * mla.v_dim);
  const MlaWork work = latent_work(layer);
  build_.attention(sparse ? fmt::format("mla_attention (top {})", mla.index_top_k) : "mla_attention", 1,
                   mla_attention_key(build_.dtype(), build_.cache(), work, latent_family()), prefill, decode,
                   latent * build_.cache_element());
  build_.bmm("absorbed_v_proj", 1, absorbed, heads, mla.kv_lora_rank, mla.v_dim);
  build_.linear("o_proj", 1, linear_, heads * mla.v_dim, model_.hidden, model_.output_bias);
  if (!sparse) add_module(work);
}

void Planner::add_query(double query) {
  const MlaShape& mla = *model_.mla;
  const double latent = double(mla.kv_lora_rank) + mla.qk_rope_dim;
  if (mla.q_lora_rank > 0) {
    build_.linear("qkv_a_proj", 1, linear_, model_.hidden, mla.q_lora_rank + latent, false);  // one fused matrix
    norm_of("q_a_norm", mla.q_lora_rank);
    build_.linear("q_b_proj", 1, linear_, mla.q_lora_rank, query, false);
  } else {
    build_.linear("q_proj", 1, linear_, model_.hidden, query, false);
    build_.linear("kv_a_proj", 1, linear_, model_.hidden, latent, false);
  }
}

MlaWork Planner::latent_work(const LayerShape& layer) const {
  const MlaShape& mla = *model_.mla;
  MlaWork work;
  work.heads = layer.attention.heads / tp_;
  work.q_lora_rank = mla.q_lora_rank;
  work.kv_lora_rank = mla.kv_lora_rank;
  work.qk_nope_dim = mla.qk_nope_dim;
  work.qk_rope_dim = mla.qk_rope_dim;
  work.v_dim = mla.v_dim;
  work.scale = model_.attention_scale;
  work.top_k = mla.index_top_k;
  work.block_size = settings_.block_size;
  return work;
}

std::string Planner::latent_family() const {
  return model_.mla->index_heads > 0 ? "flashmla-sparse" : std::string(backend_.latent);
}

void Planner::add_indexer(const LayerShape& layer) {
  const MlaShape& mla = *model_.mla;
  const double width = double(mla.index_heads) * mla.index_dim;
  build_.linear("index_q_proj", 1, linear_, mla.q_lora_rank, width, false);
  build_.linear("index_k_proj", 1, linear_, model_.hidden, mla.index_dim, false);
  build_.linear("index_weights_proj", 1, build_.plain(), model_.hidden, mla.index_heads, false);
  ModelConfig key_norm = model_;
  key_norm.layer_norm = key_norm.norm_bias = true;
  build_.norm("index_k_norm", 1, key_norm, mla.index_dim, false);
  build_.rope("index_rope", 1, mla.index_heads, 1, mla.qk_rope_dim, false);
  const double key_bytes = kv_bytes_per_token(model_, layer, tp_, kv_dtype_) -
                           (double(mla.kv_lora_rank) + mla.qk_rope_dim) * build_.cache_element();
  build_.attention("mla_index", 1,
                   mla_index_key("fp8", "fp8", mla.index_heads, mla.index_dim, mla.index_top_k, settings_.block_size),
                   2 * width, 2 * width, key_bytes);
}

void Planner::add_module(const MlaWork& work) {
  PlanModule module;
  module.name = "mla_module";
  module.key = mla_module_key(build_.dtype(), linear_.name, build_.cache(), model_.hidden, work, latent_family());
  module.replaces = {"kv_a_norm",       "rope",          "kv_write",        "kv_b_proj",
                     "absorbed_k_proj", "mla_attention", "absorbed_v_proj", "o_proj"};
  if (work.q_lora_rank > 0) {
    module.replaces.insert(module.replaces.begin(), {"qkv_a_proj", "q_a_norm", "q_b_proj"});
  } else {
    module.replaces.insert(module.replaces.begin(), {"q_proj", "kv_a_proj"});
  }
  for (PlanModule& known : modules_) {
    if (known.key == module.key) {
      known.count += 1;
      return;
    }
  }
  modules_.push_back(std::move(module));
}

// --- MLP and experts

void Planner::add_mlp_half(const LayerShape& layer) {
  if (layer.moe) {
    add_experts();
  } else {
    add_mlp("", layer.intermediate / tp_);
  }
  all_reduce(1);
}

void Planner::add_mlp(const std::string& prefix, double width) {
  if (width == 0) return;
  const bool gated = model_.gated_mlp;
  build_.linear(prefix + (gated ? "gate_up_proj" : "up_proj"), 1, linear_, model_.hidden, (gated ? 2 : 1) * width,
                model_.mlp_bias);
  build_.activation(prefix + (gated ? "act_and_mul" : "act"), 1, model_, width);
  build_.linear(prefix + "down_proj", 1, linear_, width, model_.hidden, model_.mlp_bias);
}

void Planner::add_experts() {
  const MoeShape& moe = *model_.moe;
  const std::uint32_t ep = settings_.expert_parallel;
  const bool apart = model_.norms_per_layer == 7;  // a dense MLP beside the experts, each with its own norms
  if (apart) {
    add_mlp("", moe.shared_intermediate / tp_);
    all_reduce(1);
    norm("post_dense_norm", false);
    norm("pre_router_norm", false);
    norm("pre_experts_norm", false);
  }
  build_.linear("router", 1, build_.plain(), model_.hidden, moe.experts, moe.router_bias && !moe.sigmoid_scores);
  build_.routing(1, {moe.experts, moe.experts_per_token, moe.sigmoid_scores ? "sigmoid" : "softmax", moe.groups,
                     moe.top_groups, moe.router_bias && moe.sigmoid_scores});
  const std::uint32_t data_ranks = ep > tp_ ? ep / tp_ : 1;
  const double row = model_.hidden * build_.element();
  if (data_ranks > 1) build_.collective("experts_gather", "all_gather", 1, data_ranks, row);
  ExpertWork work;
  work.hidden = model_.hidden;
  work.intermediate = ep > 1 ? moe.intermediate : moe.intermediate / tp_;
  work.local_experts = (moe.experts + ep - 1) / ep;
  work.experts = moe.experts;
  work.top_k = moe.experts_per_token;
  work.activation = text_of(model_.activation);
  work.gated = model_.gated_mlp;
  work.bias = moe.expert_bias;
  build_.experts(1, expert_, work, data_ranks);
  if (data_ranks > 1) build_.collective("experts_scatter", "reduce_scatter", 1, data_ranks, row * data_ranks);
  if (apart) {
    norm("post_experts_norm", false);
    build_.elementwise("experts_add", "add", 1, model_.hidden);
    return;
  }
  if (moe.shared_intermediate == 0) return;
  add_mlp("shared_", moe.shared_intermediate / tp_);
  if (moe.shared_gate) {
    build_.linear("shared_gate", 1, build_.plain(), model_.hidden, 1, false);
    build_.elementwise("shared_gate_mul", "sigmoid_mul", 1, model_.hidden);
  }
  build_.elementwise("experts_add", "add", 1, model_.hidden);
}

}  // namespace dooly::oracle
