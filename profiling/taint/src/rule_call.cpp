#include "rule_call.hpp"

#include "profiling_taint/taint_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace dooly::profiling {

const Argument* OperatorRecord::find(std::string_view argument) const {
  for (const Argument& candidate : arguments)
    if (candidate.name == argument) return &candidate;
  return nullptr;
}

const Argument* RuleCall::argument(std::string_view names) const {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('|'));
    if (const Argument* found = record_.find(name)) return found;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return nullptr;
}

bool RuleCall::has(std::string_view names) const {
  const Argument* found = argument(names);
  if (found == nullptr || std::holds_alternative<std::monostate>(found->value)) return false;
  const auto* tensor = std::get_if<TensorRecord>(&found->value);
  return tensor == nullptr || tensor->defined;
}

const TensorRecord* RuleCall::find_tensor(std::string_view names) const {
  const Argument* found = argument(names);
  const auto* tensor = found == nullptr ? nullptr : std::get_if<TensorRecord>(&found->value);
  return tensor != nullptr && tensor->defined ? tensor : nullptr;
}

const Dims& RuleCall::tensor(std::string_view names) const {
  if (const TensorRecord* found = find_tensor(names)) return found->dims;
  fail(fmt::format("its rule needs a tensor argument '{}'", names));
}

std::vector<const TensorRecord*> RuleCall::tensors(std::string_view name) const {
  std::vector<const TensorRecord*> all;
  const Argument* found = argument(name);
  const auto* list = found == nullptr ? nullptr : std::get_if<std::vector<TensorRecord>>(&found->value);
  if (list == nullptr) fail(fmt::format("its rule needs a list of tensors '{}'", name));
  for (const TensorRecord& tensor : *list) all.push_back(&tensor);
  return all;
}

std::optional<Dim> RuleCall::integer(std::string_view name) const {
  const Argument* found = argument(name);
  const auto* dim = found == nullptr ? nullptr : std::get_if<Dim>(&found->value);
  return dim == nullptr ? std::nullopt : std::optional<Dim>(*dim);
}

Dims RuleCall::integers(std::string_view name) const {
  const Argument* found = argument(name);
  if (found != nullptr) {
    if (const auto* list = std::get_if<Dims>(&found->value)) return *list;
    if (const auto* one = std::get_if<Dim>(&found->value)) return {*one};
  }
  return {};
}

bool RuleCall::flag(std::string_view name) const {
  const Argument* found = argument(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<bool>(&found->value);
  return value != nullptr && *value;
}

std::string RuleCall::text(std::string_view name) const {
  const Argument* found = argument(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  return value == nullptr ? std::string() : *value;
}

std::size_t RuleCall::place(std::int64_t dim, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  const std::int64_t at = dim < 0 ? dim + signed_rank : dim;
  if (at < 0 || at >= signed_rank) fail(fmt::format("dimension {} of a tensor that has {}", dim, rank));
  return static_cast<std::size_t>(at);
}

std::size_t RuleCall::axis(std::string_view name, std::size_t rank, std::int64_t fallback) const {
  const auto given = integer(name);
  return place(given ? given->size : fallback, rank);
}

std::pair<const Dims*, std::optional<Expression>> RuleCall::tensor_and_count() const {
  std::string tensor_name, count_name, symbol;
  std::istringstream(std::string(parameter_)) >> tensor_name >> count_name >> symbol;
  const auto count = integer(count_name);
  if (!count) fail(fmt::format("its rule needs an integer argument '{}'", count_name));
  auto label = requested_label(*count);
  const auto declared = binding_.find(symbol);
  if (!count->label && declared != binding_.end() && declared->second == count->size) {
    label = Expression::symbol(symbol, Origin::kModel);
  }
  return {&tensor(tensor_name), label};
}

std::optional<Expression> RuleCall::agree(const std::vector<Candidate>& candidates, std::string_view of) const {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (!candidate.label || (best != nullptr && (*candidate.label == *best->label || *candidate.label == 1))) continue;
    if (best != nullptr && *best->label != 1) {
      fail(fmt::format("{} is {} ({}) or {} ({}): ambiguous", of, best->label->text(), best->where,
                       candidate.label->text(), candidate.where));
    }
    best = &candidate;
  }
  return best == nullptr ? std::nullopt : best->label;
}

void RuleCall::fail(const std::string& what) const {
  std::string operands;
  for (const Argument& argument : record_.arguments)
    if (const auto* tensor = std::get_if<TensorRecord>(&argument.value); tensor != nullptr && tensor->defined)
      operands += fmt::format("{}{} {}", operands.empty() ? "" : ", ", argument.name, dims_text(tensor->dims));
  throw TaintError(fmt::format("{}{}{}: {} (operands: {})", record_.name, record_.overload.empty() ? "" : ".",
                               record_.overload, what, operands.empty() ? "none" : operands));
}

Labels labels_of(const Dims& dims) {
  Labels labels;
  for (const Dim& dim : dims) labels.push_back(dim.label);
  return labels;
}

std::string label_text(const std::optional<Expression>& label) { return label ? label->text() : "?"; }

std::string dims_text(const Dims& dims) {
  std::string all = "[";
  for (const Dim& dim : dims)
    all += fmt::format("{}{}={}", all.size() > 1 ? ", " : "", label_text(dim.label), dim.size);
  return all + "]";
}

std::optional<Expression> requested_label(const Dim& dim) {
  if (dim.label) return dim.label;
  return dim.size == 0 || dim.size == 1 ? std::optional<Expression>(dim.size) : std::nullopt;
}

}  // namespace dooly::profiling
