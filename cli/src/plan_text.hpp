#pragma once

#include "oracle/step_plan.hpp"
#include "store_coverage.hpp"

#include <string>

namespace dooly::cli {

/// 25165824 -> "25.2M": three digits and a decimal prefix.
std::string scaled(double value);

/// "linear 4096x6144 bfloat16 cublas, bias".
std::string key_text(const oracle::OperatorKey& key);

/// A plan for people: a heading, an entry a line, sums, and, with a store, what it can answer.
std::string plan_text(const oracle::StepPlan& plan, const StoreCoverage* coverage);

}  // namespace dooly::cli
