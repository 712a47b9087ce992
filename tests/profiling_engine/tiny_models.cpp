#include "tiny_models.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dooly::profiling {

namespace {

using nlohmann::json;

json base_config(std::string_view family) {
  return {{"model_type", family},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 3},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 16},
          {"vocab_size", 500},
          {"max_position_embeddings", 512},
          {"torch_dtype", "bfloat16"},
          {"tie_word_embeddings", false},
          {"hidden_act", "silu"},
          {"rms_norm_eps", 1e-6},
          {"rope_theta", 10000.0}};
}

const std::map<std::string_view, json>& family_changes() {
  static const std::map<std::string_view, json> changes{
      {"llama", json::object()},
      {"mistral", {{"sliding_window", 9}, {"layer_types", {"full_attention", "sliding_attention", "full_attention"}}}},
      {"qwen2", json::object()},
      {"qwen3", json::object()},
      {"phi3", json::object()},
      {"cohere", {{"logit_scale", 0.25}, {"use_qk_norm", true}, {"layer_norm_eps", 1e-5}}},
      {"cohere2",
       {{"num_hidden_layers", 4},
        {"sliding_window", 9},
        {"sliding_window_pattern", 4},
        {"logit_scale", 0.25},
        {"tie_word_embeddings", true},
        {"layer_norm_eps", 1e-5}}},
      {"gemma", {{"hidden_act", "gelu_pytorch_tanh"}}},
      {"gemma2",
       {{"num_hidden_layers", 4},
        {"sliding_window", 9},
        {"attn_logit_softcapping", 5.0},
        {"final_logit_softcapping", 30.0},
        {"query_pre_attn_scalar", 32},
        {"hidden_activation", "gelu_pytorch_tanh"}}},
      {"gemma3_text",
       {{"num_hidden_layers", 6},
        {"sliding_window", 9},
        {"rope_local_base_freq", 1000.0},
        {"query_pre_attn_scalar", 16},
        {"hidden_activation", "gelu_pytorch_tanh"}}},
      {"deepseek_v2",
       {{"first_k_dense_replace", 1},
        {"kv_lora_rank", 32},
        {"q_lora_rank", nullptr},
        {"qk_nope_head_dim", 16},
        {"qk_rope_head_dim", 8},
        {"v_head_dim", 12},
        {"n_routed_experts", 8},
        {"n_shared_experts", 2},
        {"num_experts_per_tok", 3},
        {"moe_intermediate_size", 32},
        {"norm_topk_prob", false},
        {"scoring_func", "softmax"},
        {"topk_method", "greedy"}}},
      {"mixtral", {{"num_local_experts", 6}, {"num_experts_per_tok", 2}}},
      {"qwen3_moe",
       {{"num_experts", 8},
        {"num_experts_per_tok", 3},
        {"moe_intermediate_size", 32},
        {"norm_topk_prob", true},
        {"mlp_only_layers", {0}}}},
      {"qwen2_moe",
       {{"num_experts", 8},
        {"num_experts_per_tok", 3},
        {"moe_intermediate_size", 32},
        {"shared_expert_intermediate_size", 48}}}};
  return changes;
}

}  // namespace

std::vector<std::string_view> tiny_families() {
  std::vector<std::string_view> names;
  for (const auto& [name, changes] : family_changes()) names.push_back(name);
  return names;
}

std::string tiny_config(std::string_view family) {
  json config = base_config(family);
  config.update(family_changes().at(family));
  return config.dump();
}

TinyModel::TinyModel(std::string_view family, at::ScalarType dtype, std::string_view changes)
    : kernels_(make_torch_kernels()) {
  json file = json::parse(tiny_config(family));
  file.update(json::parse(changes));
  const std::string text = file.dump();
  config_ = oracle::parse_model(text, family);
  ModelSettings settings;
  settings.dtype = dtype;
  settings.seed = 7;
  model_ = std::make_unique<Model>(config_, parse_numbers(text, config_), settings,
                                   dims_of(config_, 1, config_.max_position, kBlockSize, kBlocks), *kernels_);
  cache_ = model_->make_cache();
  for (const KvPlace& place : kv_places(config_, 1, kBlockSize))
    groups_ = std::max(groups_, static_cast<std::uint32_t>(place.group) + 1);
}

StepSettings TinyModel::step_settings() const {
  StepSettings settings;
  settings.block_size = kBlockSize;
  settings.groups = groups_;
  settings.latent = model_->latent_rules();
  return settings;
}

TinyModel::Sequence TinyModel::open() const {
  return {.computed = 0, .blocks = std::vector<std::vector<std::uint32_t>>(groups_)};
}

StepSequence TinyModel::part(Sequence& sequence, std::vector<std::int64_t> tokens, bool samples) {
  const std::int64_t after = sequence.computed + static_cast<std::int64_t>(tokens.size());
  for (std::vector<std::uint32_t>& table : sequence.blocks) {
    while (static_cast<std::int64_t>(table.size()) * kBlockSize < after) table.push_back(next_block_++);
  }
  StepSequence part{std::move(tokens), sequence.computed, sequence.blocks, samples};
  sequence.computed = after;
  return part;
}

std::vector<std::int64_t> TinyModel::step(const std::vector<StepSequence>& parts, std::int64_t padded) {
  StepSettings settings = step_settings();
  settings.padded_tokens = padded;
  const at::Tensor ids = model_->step(make_step_inputs(parts, settings), cache_).contiguous();
  return {ids.const_data_ptr<std::int64_t>(), ids.const_data_ptr<std::int64_t>() + ids.numel()};
}

std::vector<std::int64_t> TinyModel::generate(std::vector<std::int64_t> prompt, std::size_t outputs) {
  Sequence sequence = open();
  std::vector<std::int64_t> out = step({part(sequence, std::move(prompt))});
  while (out.size() < outputs) out.push_back(step({part(sequence, {out.back()})}).front());
  return out;
}

std::vector<std::int64_t> some_tokens(std::size_t count, std::uint64_t seed) {
  std::vector<std::int64_t> tokens;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    tokens.push_back(static_cast<std::int64_t>((state >> 33) % 500));
  }
  return tokens;
}

}  // namespace dooly::profiling
