#pragma once

#include "profiling_taint/operator_record.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace dooly::profiling {

class RuleCall;

/// Labels of one tensor's dimensions.
using Labels = std::vector<std::optional<Expression>>;

/// How the dimensions of a group of operators' results follow from their operands.
struct RuleRow {
  std::string_view operators;  ///< names, separated by blanks; `aten::` where no name space is written
  std::string_view rule;       ///< what it is called in messages and in the documentation
  std::vector<Labels> (*apply)(const RuleCall& call);
  std::string_view parameter = {};  ///< what `apply` needs to know of the group: names of arguments, mostly
  /// In the ablation too: labels begin here, or results have the shape of an operand and the default would do as well.
  bool stays = false;
};

/// The table. In-place and out variants are found under the plain name (`add_`, `add.out` under `add`).
const std::vector<RuleRow>& rule_table();
/// Null: no row.
const RuleRow* find_rule(std::string_view operator_name);

/// Labels of all outputs of `record`, whose sizes are known. Without a row the results inherit from an operand of
/// equal shape. Throws TaintError that names the operator: without a row and with a new shape; where two operands
/// disagree about a dimension, naming both candidates; where a label's value under `binding` is not the size.
/// `mapping_rules` false is the ablation: rows that map dimensions are not looked up, and what matches no operand
/// stays unlabelled.
std::vector<Labels> label_outputs(const OperatorRecord& record, const Binding& binding, bool mapping_rules = true);

}  // namespace dooly::profiling
