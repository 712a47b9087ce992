#pragma once

#include "oracle/model_config.hpp"

#include <filesystem>
#include <string_view>

namespace dooly::profiling {

/// Constants of a config.json that decide values and no shapes, so that latencies do not need them.
struct ModelNumbers {
  double rope_base = 10000;
  double local_rope_base = 0;    ///< of windowed layers; 0: the same
  double epsilon = 1e-6;         ///< of norms
  double embedding_scale = 1;    ///< Gemma: √hidden
  double logits_scale = 1;       ///< Command-R
  bool renormalise_experts = true;  ///< weights of the chosen experts add up to 1
};

/// `json_text` of the same file as `model`. Throws ProfilingError naming model and key for a value that is no number.
ModelNumbers parse_numbers(std::string_view json_text, const oracle::ModelConfig& model);

/// Both halves of a config.json, or of the one in a folder.
struct ModelFile {
  oracle::ModelConfig config;
  ModelNumbers numbers;
};
/// Throws OracleError or ProfilingError naming the path.
ModelFile load_model(const std::filesystem::path& path);

}  // namespace dooly::profiling
