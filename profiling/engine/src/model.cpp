#include "profiling_engine/model.hpp"

#include "layers.hpp"

#include "profiling_kernels/module_scope.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_kernels/torch_operators.hpp"

#include "oracle/step_plan.hpp"
#include "oracle/weights.hpp"

#include <ATen/ops/index_select.h>
#include <ATen/ops/narrow.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dooly::profiling {

namespace {

using oracle::AttentionKind;
using oracle::ModelConfig;

bool any_layer(const ModelConfig& config, auto claim) {
  return std::any_of(config.layers.begin(), config.layers.end(), claim);
}

/// What the built-in engine cannot compute, and whether this model needs it.
struct Missing {
  std::string_view what;
  bool needed;
};

std::array<Missing, 15> missing_features(const ModelConfig& config) {
  const auto attention = [&](auto claim) {
    return any_layer(config, [&](const oracle::LayerShape& layer) { return claim(layer.attention); });
  };
  const oracle::AttentionShape first = config.layers.front().attention;
  const bool moe = config.moe.has_value();
  return {{
      {"sparse attention by an indexer", config.mla.has_value() && config.mla->index_heads > 0},
      {"quantised weights", config.linear_format.has_value() || config.expert_format.has_value()},
      {"attention sinks", config.attention_sinks},
      {"chunked attention", attention([](const auto& shape) { return shape.kind == AttentionKind::kChunkedLocal; })},
      {"one projection for keys and values", attention([](const auto& shape) { return shape.value_is_key; })},
      {"heads that differ between layers", attention([&](const auto& shape) {
         return shape.heads != first.heads || shape.kv_heads != first.kv_heads || shape.head_dim != first.head_dim;
       })},
      {"norms of values", config.value_norm},
      {"norms of queries and keys without weights", config.weightless_qk_norm},
      {"norms with biases", config.norm_bias},
      {"norms that are not part of the residual addition", config.residual == ModelConfig::Residual::kSeparate},
      {"learned positions", config.learned_positions > 0},
      {"an output head with a bias", config.lm_head_bias},
      {"MLPs without a gate", !config.gated_mlp},
      {"an activation other than silu, gelu and relu", activation_name(config).empty()},
      {"experts with biases, sigmoid routing, groups or another activation than silu",
       moe && (config.moe->router_bias || config.moe->expert_bias || config.moe->sigmoid_scores ||
               config.moe->groups > 1 || config.activation != ModelConfig::Activation::kSilu)},
  }};
}

}  // namespace

void check_is_built_in(const ModelConfig& config, std::uint32_t tensor_parallel) {
  for (const Missing& missing : missing_features(config)) {
    if (!missing.needed) continue;
    throw ProfilingError(
        fmt::format("model {} ({}): the built-in engine has no {}", config.name, config.family, missing.what));
  }
  oracle::check_tensor_parallel(config, tensor_parallel);
  if (config.qk_norm == ModelConfig::QkNorm::kAllHeads && tensor_parallel > 1) {
    throw ProfilingError(
        fmt::format("model {}: norms across all heads are not split over tensor-parallel ranks", config.name));
  }
}

struct Model::Parts {
  Parts(const ModelConfig& model, const ModelNumbers& numbers, const ModelSettings& model_settings,
        const ModelDims& model_dims, Kernels& model_kernels)
      : config(model),
        settings(model_settings),
        dims(model_dims),
        ranks(static_cast<std::uint32_t>(dims.tensor_parallel.guard_int(__FILE__, __LINE__))),
        weights(settings),
        kernels(model_kernels) {
    const BuildContext build{config, numbers, dims, ranks, weights, kernels};
    check_attention(build, settings.dtype);
    const c10::SymInt rows = dims.padded_vocabulary / dims.tensor_parallel;
    embedding = weights.embedding(rows, dims.hidden);
    // A tied head is the embedding itself, unless the embedding's own scale has been multiplied in.
    const bool shared = config.tied_embeddings && numbers.embedding_scale == 1;
    head = {"lm_head", shared ? embedding : weights.matrix({rows, dims.hidden}), std::nullopt, &kernels};
    const bool scaled = numbers.embedding_scale != 1 && settings.weights == ModelSettings::Weights::kRandom;
    if (scaled) embedding.mul_(numbers.embedding_scale);
    add_layers(build, numbers);
    final_norm = make_norm(build, "norm", dims.hidden, numbers.logits_scale);
  }

  void add_layers(const BuildContext& build, const ModelNumbers& numbers) {
    at::Tensor table, local_table;
    if (config.rotary_dim > 0) {
      table = weights.rotary_table(dims.positions, dims.rotary_dim, numbers.rope_base);
      local_table = numbers.local_rope_base > 0
                        ? weights.rotary_table(dims.positions, dims.rotary_dim, numbers.local_rope_base)
                        : table;
    }
    const auto block_size = static_cast<std::uint32_t>(dims.block_size.guard_int(__FILE__, __LINE__));
    places = kv_places(config, ranks, block_size);
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
      const bool full = config.layers[i].attention.kind == AttentionKind::kFull;
      const at::Tensor own = !full ? local_table : config.rope_on_full ? table : at::Tensor();
      layers.emplace_back(build, i, places[i], own);
    }
  }

  ModelConfig config;
  ModelSettings settings;
  ModelDims dims;
  std::uint32_t ranks;
  WeightMaker weights;
  Kernels& kernels;
  at::Tensor embedding;
  Linear head;
  std::vector<KvPlace> places;
  std::vector<Layer> layers;
  Norm final_norm;
};

Model::Model(const ModelConfig& config, const ModelNumbers& numbers, const ModelSettings& settings,
             const ModelDims& dims, Kernels& kernels) {
  check_is_built_in(config, static_cast<std::uint32_t>(dims.tensor_parallel.guard_int(__FILE__, __LINE__)));
  parts_ = std::make_unique<Parts>(config, numbers, settings, dims, kernels);
}

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

const ModelConfig& Model::config() const { return parts_->config; }
const ModelDims& Model::dims() const { return parts_->dims; }
c10::Device Model::device() const { return parts_->settings.device; }

std::uint32_t Model::cache_groups() const {
  std::size_t groups = 1;
  for (const KvPlace& place : parts_->places) groups = std::max(groups, place.group + 1);
  return static_cast<std::uint32_t>(groups);
}

std::size_t Model::weight_bytes() const { return parts_->weights.bytes(); }

KvTensors Model::make_cache() const {
  const ModelDims& dims = parts_->dims;
  std::size_t tensors = 0;
  for (const KvPlace& place : parts_->places) tensors = std::max(tensors, place.tensor + 1);
  KvTensors cache;
  WeightMaker maker(parts_->settings);
  for (std::size_t i = 0; i < tensors; ++i) {
    if (parts_->config.mla) {
      cache.keys.push_back(maker.zeros({dims.blocks, dims.block_size, dims.latent_width()}));
      continue;
    }
    const at::Tensor both =
        maker.zeros({dims.blocks, dims.block_size, dims.local_kv_heads(), dims.head_dim + dims.head_dim});
    cache.keys.push_back(at::narrow_symint(both, 3, 0, dims.head_dim));
    cache.values.push_back(at::narrow_symint(both, 3, dims.head_dim, dims.head_dim));
  }
  return cache;
}

at::Tensor Model::forward(const StepInputs& inputs, KvTensors& cache) const {
  const ModuleScope scope("model", "Decoder");
  at::Tensor x, residual;
  {
    const ModuleScope embed("embed_tokens", "Embedding");
    x = parts_->kernels.embedding(parts_->embedding, inputs.ids);
    if (parts_->ranks > 1) all_reduce(x, parts_->ranks);
  }
  const StepContext step{inputs, cache};
  for (const Layer& layer : parts_->layers) layer(x, residual, step);
  if (!residual.defined()) return parts_->final_norm(x);
  parts_->final_norm.add(x, residual);
  return x;
}

at::Tensor Model::logits(const at::Tensor& hidden, const at::Tensor& rows) const {
  const ModelDims& dims = parts_->dims;
  at::Tensor logits = parts_->head(at::index_select(hidden, 0, rows));
  const ModuleScope scope("logits_processor", "LogitsProcessor");
  if (parts_->ranks > 1) logits = all_gather(logits, parts_->ranks);
  if (dims.padded_vocabulary != dims.vocabulary) logits = logits.slice_symint(-1, 0, dims.vocabulary);
  const double cap = parts_->config.logits_soft_cap;
  return cap > 0 ? soft_cap(logits, cap) : logits;
}

at::Tensor Model::sample(const at::Tensor& hidden, const at::Tensor& rows) const {
  const at::Tensor scores = logits(hidden, rows);
  const ModuleScope scope("sampler", "GreedySampler");
  return parts_->kernels.sample(scores);
}

at::Tensor Model::step(const StepInputs& inputs, KvTensors& cache) const {
  return sample(forward(inputs, cache), inputs.rows);
}

std::optional<LatentRules> Model::latent_rules() const {
  if (!parts_->config.mla) return std::nullopt;
  constexpr std::int64_t kSequences = 8;  // of the greatest length, in vLLM's workspace
  const ModelDims& dims = parts_->dims;
  LatentRules rules;
  rules.longest_absorbed = oracle::longest_absorbed(parts_->kernels.family("mla_attention"));
  rules.block_size = dims.block_size.guard_int(__FILE__, __LINE__);
  rules.workspace_tokens = std::min(rules.workspace_tokens, kSequences * dims.positions.guard_int(__FILE__, __LINE__));
  return rules;
}

void Model::plan_attention(StepInputs& inputs) const {
  if (inputs.latent) {
    AttentionMetadata& decodes = inputs.latent->decodes;
    if (!decodes.sequence_lengths.defined()) return;
    const LatentShape& shape = parts_->layers.front().latent_shape();
    decodes.schedule = parts_->kernels.latent()->schedule(decodes, shape, parts_->settings.dtype);
    return;
  }
  const oracle::AttentionShape first = parts_->config.layers.front().attention;
  if (any_layer(parts_->config, [&](const oracle::LayerShape& layer) { return !(layer.attention == first); })) return;
  const AttentionShape& shape = parts_->layers.front().attention_shape();
  for (AttentionMetadata& group : inputs.groups) {
    group.schedule = parts_->kernels.schedule(group, shape, parts_->settings.dtype);
  }
}

}  // namespace dooly::profiling
