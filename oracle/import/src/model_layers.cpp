#include "model_layers.hpp"

#include "oracle/operator_keys.hpp"
#include "oracle/step_plan.hpp"
#include "oracle/weights.hpp"

#include <array>
#include <utility>

namespace dooly::import_ {
namespace {

using Layers = std::map<std::string, oracle::OperatorKey>;

// Layers that its catalogues call `tp_stable`: measured on one GPU, and copied into the folders of more.
constexpr std::array kSameAtAnyTensorParallel{"layernorm", "final_layernorm", "qk_norm", "sampler"};

// Entry of a step plan -> LLMServingSim's names for the same work.
constexpr std::array kPlanNames{
    std::pair{"embedding", "embedding"},
    std::pair{"qkv_proj", "qkv_proj"},
    std::pair{"qk_norm", "qk_norm"},
    std::pair{"rope", "rotary_emb"},
    std::pair{"rope", "rope"},
    std::pair{"o_proj", "o_proj"},
    std::pair{"gate_up_proj", "gate_up_proj"},
    std::pair{"up_proj", "up_proj"},
    std::pair{"act_and_mul", "act_fn"},
    std::pair{"act", "act_fn"},
    std::pair{"down_proj", "down_proj"},
    std::pair{"router", "gate"},
    std::pair{"topk_softmax", "topk_softmax"},
    std::pair{"moe_experts", "moe"},
    std::pair{"final_norm", "final_layernorm"},
    std::pair{"post_attention_norm", "layernorm"},
    std::pair{"lm_head", "lm_head"},
    std::pair{"sample", "sampler"},
};

Layers planned_layers(const ModelRun& run) {
  const oracle::StepPlan plan = oracle::make_plan(run.model, {.backend = run.attention_family,
                                                              .dtype = run.dtype,
                                                              .kv_dtype = run.kv_dtype,
                                                              .tensor_parallel = run.tensor_parallel,
                                                              .block_size = run.block_size});
  Layers layers;
  for (const oracle::PlanEntry& entry : plan.entries) {
    for (const auto& [planned, name] : kPlanNames)
      if (entry.name == planned) layers.try_emplace(name, entry.key);
    if (entry.key.kind == "attention" && layers.try_emplace("attention", entry.key).second) layers["attn"] = entry.key;
  }
  if (const auto norm = layers.find("final_layernorm"); norm != layers.end()) {
    layers.try_emplace("layernorm", norm->second);
    layers["input_layernorm"] = layers["post_layernorm"] = norm->second;
  }
  return layers;
}

/// Matrices that version 0 measures apart.
void add_single_projections(Layers& layers, const ModelRun& run) {
  const oracle::ModelConfig& model = run.model;
  const oracle::LinearTypes types{run.dtype, run.dtype, run.dtype};
  const oracle::AttentionShape& shape = model.layers.front().attention;
  const std::uint64_t tp = run.tensor_parallel;
  layers["q_proj"] = oracle::linear_key(types, model.hidden, shape.heads / tp * shape.head_dim, model.qkv_bias);
  layers["k_proj"] = layers["v_proj"] = oracle::linear_key(
      types, model.hidden, std::uint64_t{oracle::kv_heads_per_gpu(shape, run.tensor_parallel)} * shape.head_dim,
      model.qkv_bias);
  for (const oracle::LayerShape& layer : model.layers) {
    if (layer.moe) continue;
    layers["gate_proj"] = layers["up_proj"] =
        oracle::linear_key(types, model.hidden, layer.intermediate / tp, model.mlp_bias);
    break;
  }
  if (!model.moe) return;
  const std::uint64_t width = model.moe->intermediate / tp;
  layers["expert.w1"] = layers["expert.w3"] = oracle::linear_key(types, model.hidden, width);
  layers["expert.w2"] = oracle::linear_key(types, width, model.hidden);
}

}  // namespace

Layers model_layers(const ModelRun& run) {
  Layers layers = planned_layers(run);
  if (run.tensor_parallel > 1) {
    ModelRun whole = run;
    whole.tensor_parallel = 1;
    const Layers of_one_gpu = planned_layers(whole);
    for (const char* name : kSameAtAnyTensorParallel)
      if (const auto layer = of_one_gpu.find(name); layer != of_one_gpu.end()) layers[name] = layer->second;
  }
  add_single_projections(layers, run);
  return layers;
}

}  // namespace dooly::import_
