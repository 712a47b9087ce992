#pragma once

#include "operator_cases.hpp"
#include "profiling_taint/expression.hpp"
#include "profiling_taint/rule_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dooly::profiling {

/// What a call gave and wrote: labels by the rules, and the sizes that came out.
struct Outcome {
  std::vector<Labels> labels;
  std::vector<std::vector<std::int64_t>> sizes;
};

/// Runs `one` through LibTorch's dispatcher in a TaintMode whose symbols are those of `binding`; T and R are
/// requests', the others the model's.
Outcome run_operator(const OperatorCase& one, const Binding& binding);
/// The same with what the operator has beside it: `name_`, and its `out` variant, whose results are tensors
/// of the right sizes without labels.
/// Nothing if there is none.
std::optional<Outcome> run_in_place(const OperatorCase& one, const Binding& binding);
std::optional<Outcome> run_into(const OperatorCase& one, const Binding& binding);
/// "_C::rms_norm" or "aten::view.dtype": what the case is about.
std::string operator_name(const OperatorCase& one);

}  // namespace dooly::profiling
