#include "oracle/model_config.hpp"

#include "model_families.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/text_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cmath>
#include <string>
#include <utility>

namespace dooly::oracle {

namespace {

const ModelFamily& family_of(const ConfigFields& fields) {
  const std::string model_type = fields.text_or("model_type", "");
  if (model_type.empty()) fields.fail("model_type", "missing");
  if (const std::string_view reason = refusal_reason(model_type); !reason.empty()) {
    fields.fail("model_type", fmt::format("{}: {}", model_type, reason));
  }
  for (const ModelFamily& family : model_families()) {
    if (family.model_type == model_type) return family;
  }
  fields.fail("model_type",
              fmt::format("unknown family '{}'; known: {}", model_type, fmt::join(supported_model_types(), ", ")));
}

/// Gemma-3's published files leave out what equals the defaults of its configuration class.
std::uint32_t family_default(const ModelConfig& model, std::uint32_t gemma3) {
  return model.family == "gemma3_text" ? gemma3 : 0;
}

std::uint32_t size_or_default(const ConfigFields& fields, std::initializer_list<std::string_view> keys,
                              std::uint32_t limit, std::uint32_t fallback) {
  return fallback > 0 ? fields.size_or(keys, limit, fallback) : fields.size(keys, limit);
}

void read_attention(const ConfigFields& fields, ModelConfig& model, LayerRules& rules) {
  AttentionShape& attention = rules.attention;
  attention.heads = size_or_default(fields, {"num_attention_heads"}, kMaxHeads, family_default(model, 8));
  const std::uint32_t kv_default = family_default(model, 4);
  attention.kv_heads =
      fields.size_or({"num_key_value_heads"}, kMaxHeads, kv_default > 0 ? kv_default : attention.heads);
  const std::uint32_t gemma_dim = family_default(model, 256);
  attention.head_dim = fields.size_or({"head_dim", "kv_channels"}, kMaxWidth, gemma_dim);
  if (attention.head_dim == 0) {
    if (model.hidden % attention.heads != 0 && !fields.has("kv_lora_rank")) {
      fields.fail("head_dim",
                  fmt::format("missing, and {} heads do not divide hidden_size {}", attention.heads, model.hidden));
    }
    attention.head_dim = model.hidden / attention.heads;
  }
  if (!fields.has("kv_lora_rank") && attention.heads % attention.kv_heads != 0) {
    fields.fail("num_key_value_heads",
                fmt::format("must divide num_attention_heads {}, got {}", attention.heads, attention.kv_heads));
  }
  rules.full_attention = attention;
  const double rotary_share = fields.share_or("partial_rotary_factor", fields.share_or("rotary_pct", 1.0));
  model.rotary_dim = static_cast<std::uint32_t>(std::lround(rotary_share * attention.head_dim));
}

void read_window(const ConfigFields& fields, LayerRules& rules) {
  // Qwen's files carry a window that is switched off.
  const bool has_switch = fields.has("use_sliding_window");
  if (has_switch && !fields.flag_or("use_sliding_window", false)) return;
  rules.window = fields.count_or_zero("sliding_window", kMaxTokens);
}

void read_quantization(const ConfigFields& fields, ModelConfig& model) {
  const nlohmann::json* config = fields.find("quantization_config");
  if (config == nullptr) return;
  const auto method = config->is_object() ? config->find("quant_method") : config->end();
  if (!config->is_object() || method == config->end() || !method->is_string()) {
    fields.fail("quantization_config", "must name its quant_method");
  }
  const auto name = method->get<std::string>();
  if (name == "fp8") {
    model.linear_format = model.expert_format = DType::kFp8;
    const auto block = config->find("weight_block_size");
    model.block_scales = block != config->end() && !block->is_null();
  } else if (name == "mxfp4") {
    model.expert_format = DType::kMxfp4;
  } else {
    fields.fail("quantization_config.quant_method", fmt::format("'{}' is not supported; known: fp8, mxfp4", name));
  }
}

void read_activation(const ConfigFields& fields, const ModelFamily& family, ModelConfig& model) {
  using Activation = ModelConfig::Activation;
  constexpr std::pair<std::string_view, Activation> kNames[] = {{"silu", Activation::kSilu},
                                                                {"swish", Activation::kSilu},
                                                                {"gelu", Activation::kGelu},
                                                                {"gelu_tanh", Activation::kGeluTanh},
                                                                {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                                                {"gelu_new", Activation::kGeluNew},
                                                                {"gelu_fast", Activation::kGeluNew},
                                                                {"relu", Activation::kRelu}};
  const std::string name = fields.text_or(
      "hidden_activation",
      fields.text_or("hidden_act", fields.text_or("activation_function", std::string(family.activation))));
  for (const auto& [known, activation] : kNames) {
    if (known == name) {
      model.activation = activation;
      return;
    }
  }
  fields.fail("hidden_act",
              fmt::format("'{}' is not supported; known: silu, gelu, gelu_pytorch_tanh, gelu_new, relu", name));
}

ModelConfig read_common(const ConfigFields& fields, const ModelFamily& family, LayerRules& rules) {
  ModelConfig model;
  model.name = fields.name();
  model.family = family.model_type;
  model.hidden = fields.size({"hidden_size", "n_embd"}, kMaxWidth);
  rules.layers = fields.size({"num_hidden_layers", "n_layer"}, kMaxLayers);
  model.vocabulary = size_or_default(fields, {"vocab_size"}, 1u << 26, family_default(model, 262208));
  model.max_position = size_or_default(fields, {"max_position_embeddings", "max_sequence_length", "n_positions"},
                                       kMaxTokens, family_default(model, 131072));
  rules.dense_intermediate = fields.size_or({"intermediate_size", "ffn_dim", "n_inner"}, kMaxWidth, 0);
  model.tied_embeddings = fields.flag_or("tie_word_embeddings", family.tied_embeddings);
  const std::string dtype = fields.text_or("dtype", fields.text_or("torch_dtype", "bfloat16"));
  try {
    model.dtype = parse_dtype(dtype);
  } catch (const OracleError& error) {
    fields.fail("torch_dtype", error.what());
  }
  read_attention(fields, model, rules);
  read_window(fields, rules);
  read_quantization(fields, model);
  read_activation(fields, family, model);
  return model;
}

AttentionKind kind_of_type(const ConfigFields& fields, const std::string& type) {
  if (type == "full_attention") return AttentionKind::kFull;
  if (type == "sliding_attention") return AttentionKind::kSlidingWindow;
  if (type == "chunked_attention") return AttentionKind::kChunkedLocal;
  fields.fail("layer_types", fmt::format("'{}' is not supported; known: full_attention, sliding_attention, "
                                         "chunked_attention",
                                         type));
}

/// Kind of each layer: as the file lists it, else by the family's pattern.
std::vector<AttentionKind> attention_kinds(const ConfigFields& fields, const LayerRules& rules) {
  std::vector<AttentionKind> kinds(rules.layers, AttentionKind::kFull);
  const std::vector<std::string> types = fields.texts("layer_types");
  if (!types.empty()) {
    if (types.size() != rules.layers) {
      fields.fail("layer_types", fmt::format("lists {} layers, num_hidden_layers is {}", types.size(), rules.layers));
    }
    for (std::uint32_t i = 0; i < rules.layers; ++i) kinds[i] = kind_of_type(fields, types[i]);
    return kinds;
  }
  if (rules.window == 0) return kinds;
  // Qwen: the first max_window_layers attend fully.
  const std::uint32_t first =
      fields.has("use_sliding_window") ? fields.count_or_zero("max_window_layers", kMaxLayers) : 0;
  for (std::uint32_t i = 0; i < rules.layers; ++i) {
    const bool full = i < first || (rules.full_every > 0 && (i + 1) % rules.full_every == 0);
    if (!full) kinds[i] = rules.windowed;
  }
  return kinds;
}

void build_layers(const ConfigFields& fields, ModelConfig& model, const LayerRules& rules) {
  const std::vector<AttentionKind> kinds = attention_kinds(fields, rules);
  for (std::uint32_t i = 0; i < rules.layers; ++i) {
    LayerShape layer;
    layer.attention = kinds[i] == AttentionKind::kFull ? rules.full_attention : rules.attention;
    layer.attention.kind = kinds[i];
    if (kinds[i] != AttentionKind::kFull) {
      if (rules.window == 0) fields.fail("sliding_window", "missing, but layer_types has windowed layers");
      layer.attention.window = rules.window;
    }
    layer.moe = model.moe && (rules.moe.empty() || rules.moe[i]);
    if (!layer.moe) {
      if (rules.dense_intermediate == 0) fields.fail("intermediate_size", "missing");
      layer.intermediate = rules.dense_intermediate;
    }
    model.layers.push_back(layer);
  }
}

void check_experts(const ConfigFields& fields, const ModelConfig& model) {
  if (!model.moe || model.moe->experts_per_token <= model.moe->experts) return;
  fields.fail("num_experts_per_tok",
              fmt::format("must be at most the {} experts, got {}", model.moe->experts, model.moe->experts_per_token));
}

}  // namespace

std::vector<LayerShape> ModelConfig::layer_classes() const {
  std::vector<LayerShape> classes;
  for (const LayerShape& layer : layers) {
    bool known = false;
    for (LayerShape& seen : classes) {
      if (seen.attention == layer.attention && seen.moe == layer.moe && seen.intermediate == layer.intermediate) {
        seen.count += layer.count;
        known = true;
        break;
      }
    }
    if (!known) classes.push_back(layer);
  }
  return classes;
}

std::uint32_t ModelConfig::moe_layers() const {
  std::uint32_t count = 0;
  for (const LayerShape& layer : layers) count += layer.moe ? layer.count : 0;
  return count;
}

ModelConfig parse_model(std::string_view json_text, std::string_view name) {
  const ConfigFields fields(json_text, name);
  const ModelFamily& family = family_of(fields);
  LayerRules rules;
  ModelConfig model = read_common(fields, family, rules);
  family.apply(fields, model, rules);
  check_experts(fields, model);
  build_layers(fields, model, rules);
  return model;
}

ModelConfig load_model_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::is_directory(path, ignored) ? path / "config.json" : path;
  std::string text;
  try {
    text = read_text_file(file);
  } catch (const OracleError& error) {
    throw OracleError(fmt::format("model {}", error.what()));
  }
  return parse_model(text, path.string());
}

std::vector<std::string_view> supported_model_types() {
  std::vector<std::string_view> names;
  for (const ModelFamily& family : model_families()) names.push_back(family.model_type);
  return names;
}

}  // namespace dooly::oracle
