// What is planned, and what lies around the layers.
#include "planner.hpp"

#include "oracle/kv_layout.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/weights.hpp"

#include <fmt/format.h>

#include <utility>

namespace dooly::oracle {

namespace {

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

}  // namespace

Planner::Planner(const ModelConfig& model, const PlanSettings& settings, const PlanBackend& backend)
    : model_(model),
      settings_(settings),
      backend_(backend),
      dtype_(activation_dtype(model, settings.dtype)),
      kv_dtype_(settings.kv_dtype == "auto" ? dtype_ : parse_dtype(settings.kv_dtype)),
      tp_(settings.tensor_parallel),
      build_(dtype_, kv_dtype_, settings.block_size) {
  linear_ = format(model.linear_format);
  expert_ = format(model.expert_format);
}

StepPlan Planner::plan() {
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
  if (backend_.name == kTorchBackend) use_torch_kernels(plan);
  for (PlanModule& module : plan.modules) module.signature = signature_of(module.key);
  return plan;
}

void use_torch_kernels(StepPlan& plan) {
  for (PlanEntry& entry : plan.entries) {
    if (entry.binding == Binding::kCollective) continue;
    entry.key.family = kTorchBackend;
    entry.signature = signature_of(entry.key);
  }
}

// --- what is planned

void Planner::check() {
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
  layers_.assign(model_.layers.begin() + first_layer_, model_.layers.begin() + first_layer_ + shares[settings_.stage]);
  first_ = settings_.stage == 0;
  last_ = settings_.stage + 1 == settings_.pipeline_parallel;
}

void Planner::check_experts() {
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

PlanBuilder::Format Planner::format(const std::optional<DType>& weights) const {
  if (!weights) return build_.plain();
  const bool blocks = *weights == DType::kFp8 && model_.block_scales;
  return {blocks ? "fp8_block" : std::string(dtype_name(*weights)), bytes_per_element(*weights)};
}

StepPlan Planner::header() const {
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

std::uint64_t Planner::outer_parameters() const {
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

void Planner::add_embedding() {
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

double Planner::stage_message() const {
  const double tensors = model_.residual == ModelConfig::Residual::kFused ? 2 : 1;
  return tensors * model_.hidden * build_.element();
}

void Planner::add_head() {
  const double rows = double(padded_vocabulary(model_)) / tp_;
  build_.norm("final_norm", 1, model_, model_.hidden, model_.residual == ModelConfig::Residual::kFused);
  build_.linear("lm_head", 1, build_.plain(), model_.hidden, rows, model_.lm_head_bias).binding = Binding::kLogitsRows;
  if (tp_ > 1) build_.collective("logits_gather", "all_gather", 1, tp_, rows * build_.element(), true);
  if (model_.logits_soft_cap > 0) build_.elementwise("logits_soft_cap", "soft_cap", 1, model_.vocabulary);
  build_.sample(model_.vocabulary);
}

void Planner::all_reduce(std::uint32_t count) {
  if (tp_ > 1) build_.collective("all_reduce", "all_reduce", count, tp_, model_.hidden * build_.element());
}

// --- a layer

void Planner::add_layer(const LayerShape& layer) {
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

}  // namespace dooly::oracle
