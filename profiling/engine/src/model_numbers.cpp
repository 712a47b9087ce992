#include "profiling_engine/model_numbers.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/text_file.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <initializer_list>
#include <string>

namespace dooly::profiling {

namespace {

using nlohmann::json;

/// The first of `keys` that is given.
double number_or(const json& file, const oracle::ModelConfig& model, std::initializer_list<const char*> keys,
                 double fallback) {
  for (const char* key : keys) {
    const auto found = file.find(key);
    if (found == file.end() || found->is_null()) continue;
    if (!found->is_number()) {
      throw ProfilingError(fmt::format("model {}: {}: must be a number, got {}", model.name, key, found->dump()));
    }
    return found->get<double>();
  }
  return fallback;
}

bool renormalises(const json& file, const oracle::ModelConfig& model) {
  const bool fallback = model.family == "mixtral";  // the Qwen families name it
  const auto found = file.find("norm_topk_prob");
  return found != file.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

}  // namespace

ModelNumbers parse_numbers(std::string_view json_text, const oracle::ModelConfig& model) {
  json file = json::parse(json_text, nullptr, false);
  if (file.is_discarded() || !file.is_object()) {
    throw ProfilingError(fmt::format("model {}: is no JSON object", model.name));
  }
  if (const auto text = file.find("text_config"); text != file.end() && text->is_object()) {
    const json inner = *text;
    file.update(inner);
  }
  ModelNumbers numbers;
  numbers.rope_base = number_or(file, model, {"rope_theta"}, numbers.rope_base);
  numbers.local_rope_base = number_or(file, model, {"rope_local_base_freq"}, 0);
  numbers.epsilon = number_or(file, model, {"rms_norm_eps", "layer_norm_eps"}, numbers.epsilon);
  numbers.logits_scale = number_or(file, model, {"logit_scale"}, 1);
  if (model.unit_offset_norm) numbers.embedding_scale = std::sqrt(double(model.hidden));
  numbers.renormalise_experts = renormalises(file, model);
  return numbers;
}

ModelFile load_model(const std::filesystem::path& path) {
  ModelFile model{.config = oracle::load_model_file(path), .numbers = {}};
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::is_directory(path, ignored) ? path / "config.json" : path;
  try {
    model.numbers = parse_numbers(oracle::read_text_file(file), model.config);
  } catch (const oracle::OracleError& error) {
    throw ProfilingError(fmt::format("model {}", error.what()));
  }
  return model;
}

}  // namespace dooly::profiling
