#pragma once

#include "oracle/step_cost.hpp"
#include "oracle_profiled/compiled_plan.hpp"

#include <string>
#include <string_view>

namespace dooly::cli {

/// For people: an answer by part.
std::string cost_text(std::string_view batch, const oracle::StepCost& cost);
/// For scripts, the members of an answer of `serve-oracle`; `id` (JSON) in front if it is not empty.
std::string cost_json(const oracle::StepCost& cost, std::string_view id = {});
/// Who answers each operator of a plan.
std::string operators_text(const oracle::CompiledPlan& plan);

}  // namespace dooly::cli
