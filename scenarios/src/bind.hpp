#pragma once

#include "scenarios/scenario.hpp"
#include "value.hpp"

#include <string>

namespace dooly::scenario {

/// The scenario that checked values describe. Invalid values are read as harmless stand-ins, so that the cross-checks
/// can run over the rest; the result is for keeping only if no problem was found.
Scenario bind_scenario(const Value& value, const std::string& default_name);

}  // namespace dooly::scenario
