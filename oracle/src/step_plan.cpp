#include "oracle/step_plan.hpp"

#include "oracle/kv_layout.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/weights.hpp"
#include "plan_builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <utility>

// Which operators a step has and in which order follows the model files of vLLM 0.26 (vllm/model_executor/models).

namespace dooly::oracle {

namespace {

struct Backend {
  std::string_view name, engine_name, latent;
};
constexpr std::string_view kTorch = "torch";
constexpr std::array<Backend, 7> kBackends{{{"fa2", "FLASH_ATTN_2", "fa2-mla"},
                                            {"fa3", "FLASH_ATTN", "fa3-mla"},
                                            {"fa4", "FLASH_ATTN_4", "fa4-mla"},
                                            {"flashinfer", "FLASHINFER", "flashinfer-mla"},
                                            {"flashmla", "FLASHMLA", "flashmla"},
                                            {"triton", "TRITON_ATTN", "triton-mla"},
                                            {kTorch, "TORCH_SDPA", kTorch}}};
/// FlashAttention 3 has no kernels for wider heads; the engine then takes FlashAttention 4.
constexpr std::uint32_t kWidestFa3Head = 256;

const Backend& find_backend(const ModelConfig& model, std::string_view name) {
  for (const Backend& backend : kBackends) {
    if (backend.name == name || backend.engine_name == name) return backend;
  }
  throw OracleError(fmt::format("model {}: unknown attention backend '{}'; known: {}", model.name, name,
                                fmt::join(plan_backends(), ", ")));
}

DType activation_dtype(const ModelConfig& model, const std::string& text) {
  if (text != "auto") {
    const DType dtype = parse_dtype(text);
    if (dtype == DType::kFp8 || dtype == DType::kMxfp4) {
      throw OracleError(fmt::format("dtype: must be auto, bfloat16, float16 or float32, got '{}'", text));
    }
    return dtype;
  }
  return model.dtype == DType::kFloat32 ? DType::kBfloat16 : model.dtype;  // as the engine's own `auto`
}

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

/// Walks the layers of one stage.
class Planner {
 public:
  Planner(const ModelConfig& model, const PlanSettings& settings)
      : model_(model),
        settings_(settings),
        backend_(find_backend(model, settings.backend)),
        dtype_(activation_dtype(model, settings.dtype)),
        kv_dtype_(settings.kv_dtype == "auto" ? dtype_ : parse_dtype(settings.kv_dtype)),
        tp_(settings.tensor_parallel),
        build_(dtype_, kv_dtype_, settings.block_size) {
    linear_ = format(model.linear_format);
    expert_ = format(model.expert_format);
  }

  StepPlan plan() {
    check();
    StepPlan plan = header();
    add_embedding();
    for (const LayerShape& layer : layers_) {
      add_layer(layer);
      (layer.moe ? plan.moe_layers : plan.dense_layers) += 1;
      plan.parameters += layer_weights(model_, layer, 1).total();
      plan.kv_bytes_per_token += kv_bytes_per_token(model_, layer, tp_, kv_dtype_);
    }
    if (last_) add_head();
    if (!last_) add_send();
    plan.parameters += outer_parameters();
    plan.entries = build_.take();
    plan.modules = std::move(modules_);
    if (backend_.name == kTorch) use_torch_kernels(plan);
    for (PlanModule& module : plan.modules) module.signature = signature_of(module.key);
    return plan;
  }

 private:
  /// LibTorch's own kernels throughout, as the built-in engine runs them: that back end is no attention kernel alone.
  static void use_torch_kernels(StepPlan& plan) {
    for (PlanEntry& entry : plan.entries) {
      if (entry.binding == Binding::kCollective) continue;
      entry.key.family = kTorch;
      entry.signature = signature_of(entry.key);
    }
  }

  // --- what is planned

  void check() {
    const auto positive = [&](const char* what, std::uint32_t value) {
      if (value == 0) throw OracleError(fmt::format("model {}: {} must be at least 1, got 0", model_.name, what));
    };
    positive("pipeline parallel size", settings_.pipeline_parallel);
    positive("expert parallel size", settings_.expert_parallel);
    positive("block size", settings_.block_size);
    check_experts();
    const auto all = static_cast<std::uint32_t>(model_.layers.size());
    if (settings_.stage >= settings_.pipeline_parallel) {
      throw OracleError(fmt::format("model {}: there is no pipeline stage {} of {}", model_.name, settings_.stage,
                                    settings_.pipeline_parallel));
    }
    if (settings_.pipeline_parallel > all) {
      throw OracleError(fmt::format("model {}: pipeline parallel size {} exceeds the {} layers", model_.name,
                                    settings_.pipeline_parallel, all));
    }
    const std::vector<std::uint32_t> shares = stage_layers(all, settings_.pipeline_parallel);
    for (std::uint32_t i = 0; i < settings_.stage; ++i) first_layer_ += shares[i];
    layers_.assign(model_.layers.begin() + first_layer_,
                   model_.layers.begin() + first_layer_ + shares[settings_.stage]);
    first_ = settings_.stage == 0;
    last_ = settings_.stage + 1 == settings_.pipeline_parallel;
  }

  void check_experts() {
    const std::uint32_t ep = settings_.expert_parallel;
    if (ep == 1) {
      check_tensor_parallel(model_, tp_);
    } else {
      if (!model_.moe) {
        throw OracleError(fmt::format("model {}: expert parallel size {}, but it has no experts", model_.name, ep));
      }
      ModelConfig unsplit = model_;
      unsplit.moe->intermediate = 0;
      check_tensor_parallel(unsplit, tp_);
      if (ep % tp_ != 0 || ep > model_.moe->experts) {
        throw OracleError(fmt::format(
            "model {}: expert parallel size must be 1 or a multiple of the tensor parallel size {} and at most the {} "
            "experts (experts are spread over all tensor- and data-parallel GPUs), got {}",
            model_.name, tp_, model_.moe->experts, ep));
      }
    }
  }

  PlanBuilder::Format format(const std::optional<DType>& weights) const {
    if (!weights) return build_.plain();
    const bool blocks = *weights == DType::kFp8 && model_.block_scales;
    return {blocks ? "fp8_block" : std::string(dtype_name(*weights)), bytes_per_element(*weights)};
  }

  StepPlan header() const {
    StepPlan plan;
    plan.model = model_.name;
    plan.backend = backend_.name;
    plan.dtype = dtype_name(dtype_);
    plan.kv_dtype = dtype_name(kv_dtype_);
    plan.tensor_parallel = tp_;
    plan.pipeline_parallel = settings_.pipeline_parallel;
    plan.expert_parallel = settings_.expert_parallel;
    plan.stage = settings_.stage;
    plan.block_size = settings_.block_size;
    plan.first_layer = first_layer_;
    return plan;
  }

  /// Embeddings, head and final norm, unsplit; a tied matrix belongs to the first stage.
  std::uint64_t outer_parameters() const {
    const std::uint64_t hidden = model_.hidden;
    const std::uint64_t table = model_.vocabulary * hidden;
    std::uint64_t count = 0;
    if (first_) count += table + model_.learned_positions * hidden;
    if (!last_) return count;
    if (!model_.tied_embeddings) count += table;
    if (model_.lm_head_bias) count += model_.vocabulary;
    return count + hidden * (model_.norm_bias ? 2 : 1);
  }

  // --- around the layers

  void add_embedding() {
    const double hidden = model_.hidden;
    if (first_) {
      build_.embedding("embedding", double(padded_vocabulary(model_)) / tp_, hidden);
      all_reduce(1);
      if (model_.learned_positions > 0) {
        build_.embedding("position_embedding", model_.learned_positions, hidden);
        build_.elementwise("position_add", "add", 1, hidden);
      }
    } else if (tp_ > 1) {
      build_.collective("stage_gather", "all_gather", 1, tp_, stage_message() / tp_);
    }
  }

  /// What goes from stage to stage: the hidden states, and the residual stream where it is kept apart. Every tensor-
  /// parallel GPU sends its share; the receivers gather.
  double stage_message() const {
    const double tensors = model_.residual == ModelConfig::Residual::kFused ? 2 : 1;
    return tensors * model_.hidden * build_.element();
  }

  void add_send() { build_.collective("stage_send", "send_recv", 1, 2, stage_message() / tp_); }

  void add_head() {
    const double rows = double(padded_vocabulary(model_)) / tp_;
    build_.norm("final_norm", 1, model_, model_.hidden, model_.residual == ModelConfig::Residual::kFused);
    build_.linear("lm_head", 1, build_.plain(), model_.hidden, rows, model_.lm_head_bias).binding =
        Binding::kLogitsRows;
    if (tp_ > 1) build_.collective("logits_gather", "all_gather", 1, tp_, rows * build_.element(), true);
    if (model_.logits_soft_cap > 0) build_.elementwise("logits_soft_cap", "soft_cap", 1, model_.vocabulary);
    build_.sample(model_.vocabulary);
  }

  void all_reduce(std::uint32_t count) {
    if (tp_ > 1) build_.collective("all_reduce", "all_reduce", count, tp_, model_.hidden * build_.element());
  }

  // --- a layer

  void add_layer(const LayerShape& layer) {
    using Residual = ModelConfig::Residual;
    const bool fused = model_.residual == Residual::kFused;
    const bool behind = model_.norms_per_layer >= 4;  // norms before and behind each half
    norm("input_norm", fused && !(first_ && !started_));
    started_ = true;
    if (model_.mla) {
      add_latent_attention(layer);
    } else {
      add_attention(layer);
    }
    all_reduce(1);
    if (model_.residual == Residual::kParallel) {
      add_mlp_half(layer);
      build_.elementwise("residual_add", "add", 1, model_.hidden, 3);
      return;
    }
    if (behind) norm("post_attention_norm", false);
    if (!fused) build_.elementwise("residual_add", "add", 1, model_.hidden);
    norm(behind ? "pre_mlp_norm" : "post_attention_norm", fused);
    add_mlp_half(layer);
    if (behind) norm("post_mlp_norm", false);
    if (!fused) build_.elementwise("residual_add", "add", 1, model_.hidden);
  }

  void norm(std::string_view name, bool residual) { build_.norm(name, 1, model_, model_.hidden, residual); }

  void add_attention(const LayerShape& layer) {
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
    const bool wide = backend_.name == "fa3" && shape.head_dim > kWidestFa3Head;
    // QKᵀ and PV: a multiplication and an addition for each number of a head, twice.
    build_.attention(name, 1, attention_key(build_.dtype(), build_.cache(), work, wide ? "fa4" : backend_.name),
                     4 * heads * dim, 4 * heads * dim, kv_bytes_per_token(model_, layer, tp_, kv_dtype_));
    build_.linear("o_proj", 1, linear_, heads * dim, model_.hidden, model_.output_bias);
  }

  /// Layers whose heads differ rotate the same share of them.
  double rotary_dim(const LayerShape& layer) const {
    const AttentionShape& shape = layer.attention;
    if (shape.kind == AttentionKind::kFull && !model_.rope_on_full) return 0;
    return std::min(model_.rotary_dim, shape.head_dim);
  }

  void add_qk_norm(const LayerShape& layer) {
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

  void add_latent_attention(const LayerShape& layer) {
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

  void add_query(double query) {
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

  void norm_of(std::string_view name, double width) { build_.norm(name, 1, model_, width, false); }

  MlaWork latent_work(const LayerShape& layer) const {
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

  std::string latent_family() const {
    return model_.mla->index_heads > 0 ? "flashmla-sparse" : std::string(backend_.latent);
  }

  /// The indexer scores every earlier token; attention then sees the best `index_top_k` of them.
  void add_indexer(const LayerShape& layer) {
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

  void add_module(const MlaWork& work) {
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

  void add_mlp_half(const LayerShape& layer) {
    if (layer.moe) {
      add_experts();
    } else {
      add_mlp("", layer.intermediate / tp_);
    }
    all_reduce(1);
  }

  void add_mlp(const std::string& prefix, double width) {
    if (width == 0) return;
    const bool gated = model_.gated_mlp;
    build_.linear(prefix + (gated ? "gate_up_proj" : "up_proj"), 1, linear_, model_.hidden, (gated ? 2 : 1) * width,
                  model_.mlp_bias);
    build_.activation(prefix + (gated ? "act_and_mul" : "act"), 1, model_, width);
    build_.linear(prefix + "down_proj", 1, linear_, width, model_.hidden, model_.mlp_bias);
  }

  void add_experts() {
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

  const ModelConfig& model_;
  const PlanSettings& settings_;
  const Backend& backend_;
  DType dtype_, kv_dtype_;
  std::uint32_t tp_;
  PlanBuilder build_;
  PlanBuilder::Format linear_, expert_;
  std::vector<LayerShape> layers_;
  std::vector<PlanModule> modules_;
  std::uint32_t first_layer_ = 0;
  bool first_ = true, last_ = true, started_ = false;
};

}  // namespace

std::string_view binding_name(Binding binding) {
  switch (binding) {
    case Binding::kTokens: return "tokens";
    case Binding::kLogitsRows: return "logits_rows";
    case Binding::kAttention: return "attention";
    case Binding::kExperts: return "experts";
    case Binding::kCollective: return "collective";
    case Binding::kPrefillTokens: return "prefill_tokens";
    case Binding::kDecodeTokens: return "decode_tokens";
  }
  throw OracleError("unknown binding");
}

std::vector<std::string_view> plan_backends() {
  std::vector<std::string_view> names;
  for (const Backend& backend : kBackends) names.push_back(backend.name);
  return names;
}

std::vector<std::uint32_t> stage_layers(std::uint32_t layers, std::uint32_t stages) {
  std::vector<std::uint32_t> shares(stages, layers / stages);
  const std::uint32_t rest = layers % stages;  // at most stages - 1: the last stage, which has the head, gets none
  for (std::uint32_t i = 0; i < rest; ++i) shares[stages - 2 - i] += 1;
  return shares;
}

StepPlan make_plan(const ModelConfig& model, const PlanSettings& settings) { return Planner(model, settings).plan(); }

}  // namespace dooly::oracle
