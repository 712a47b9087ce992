#pragma once

#include "profiling_taint/operator_record.hpp"
#include "profiling_taint/rule_table.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dooly::profiling {

/// A label and where it was found, for messages.
struct Candidate {
  std::optional<Expression> label;
  std::string where;
};

/// What a rule may ask of a call. Names are those of the schema; "self|input" is the first of them that is there.
class RuleCall {
 public:
  RuleCall(const OperatorRecord& record, const Binding& binding, std::string_view parameter)
      : record_(record),
        binding_(binding),
        parameter_(parameter) {}

  const OperatorRecord& record() const { return record_; }
  const Binding& binding() const { return binding_; }
  std::string_view parameter() const { return parameter_; }
  bool has(std::string_view names) const;               ///< given, and not None
  const TensorRecord* find_tensor(std::string_view names) const;
  const Dims& tensor(std::string_view names) const;     ///< throws if absent
  std::vector<const TensorRecord*> tensors(std::string_view name) const;  ///< a list of tensors
  std::optional<Dim> integer(std::string_view name) const;
  Dims integers(std::string_view name) const;           ///< a list, or one integer as a list
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;
  /// A dimension's place in a tensor of `rank`, negative ones counted from the end; `fallback` if not given.
  std::size_t axis(std::string_view name, std::size_t rank, std::int64_t fallback = 0) const;
  std::size_t place(std::int64_t dim, std::size_t rank) const;
  /// `parameter` "tensor count symbol": that tensor, and the label of that integer argument. A plain integer is the
  /// model's `symbol` if the row declares one that has this value.
  std::pair<const Dims*, std::optional<Expression>> tensor_and_count() const;
  const Dims& output(std::size_t index = 0) const { return record_.outputs.at(index).dims; }

  /// The one label that all candidates allow; unlabelled ones have no say, and a constant 1 gives way (broadcasting).
  /// Throws TaintError naming two that differ.
  std::optional<Expression> agree(const std::vector<Candidate>& candidates, std::string_view of) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const Argument* argument(std::string_view names) const;
  const OperatorRecord& record_;
  const Binding& binding_;
  std::string_view parameter_;
};

Labels labels_of(const Dims& dims);
std::string dims_text(const Dims& dims);  ///< "[num_tokens=7, ?=64]"
std::string label_text(const std::optional<Expression>& label);
/// A requested size: its own label; a literal 0 or 1 is itself; any other plain integer has no known origin.
std::optional<Expression> requested_label(const Dim& dim);

}  // namespace dooly::profiling
