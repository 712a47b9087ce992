#pragma once

#include "oracle/model_config.hpp"

#include <span>
#include <string_view>

namespace dooly::oracle {

/// A model that ships with the program: hyper-parameters are facts, retyped from the named source.
struct ShippedModel {
  std::string_view name;    ///< hub id
  std::string_view source;  ///< where the facts were read
  std::string_view config;  ///< the keys of its config.json that decide shapes
};

/// Sorted by name.
std::span<const ShippedModel> shipped_models();

/// A shipped model by hub id. `Meta-` after the organisation and `-hf` at the end are optional, case does not matter.
/// Throws OracleError that lists the nearest known names.
ModelConfig find_model(std::string_view name);
bool is_shipped_model(std::string_view name);

/// A shipped name or a path to a config.json (or the folder that holds it).
ModelConfig resolve_model(std::string_view name_or_path);

}  // namespace dooly::oracle
