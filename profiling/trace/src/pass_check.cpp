#include "profiling_trace/pass_check.hpp"

#include "profiling_kernels/latent_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace dooly::profiling {

namespace {

constexpr std::array<std::string_view, 3> kBatchArguments{"max_seqlen_q", "max_seqlen_k", "num_splits"};

class Comparison {
 public:
  Comparison(const Trace& first, const Trace& second) : first_(first), second_(second) {}

  PassCheck check() {
    const std::vector<std::size_t> ours = shared_operators(first_, second_), theirs = shared_operators(second_, first_);
    symbols();
    const std::size_t count = std::min(ours.size(), theirs.size());
    for (std::size_t i = 0; i < count; ++i) {
      op_ = ours[i];
      other_ = theirs[i];
      if (!same_call()) return std::move(result_);
      compare_call(first_.operators[op_].record, second_.operators[other_].record);
    }
    if (ours.size() != theirs.size()) {
      result_.contradictions.push_back(fmt::format("the passes have {} and {} operators", ours.size(), theirs.size()));
    }
    branches();
    return std::move(result_);
  }

 private:
  /// Operators of `trace` outside of optional parts that the other pass has not.
  std::vector<std::size_t> shared_operators(const Trace& trace, const Trace& other) {
    std::set<std::string> known;
    for (const TracedModule& module : other.modules) known.insert(module.path);
    std::vector<bool> is_alone(trace.modules.size(), false);
    for (std::size_t i = 1; i < trace.modules.size(); ++i) {  // parents come before their children
      const TracedModule& module = trace.modules[i];
      const bool begins = module.kind == kLatentPart && !known.contains(module.path);
      is_alone[i] = is_alone[module.parent] || begins;
      if (begins && !is_alone[module.parent]) result_.alone.push_back(module.path);
    }
    std::vector<std::size_t> operators;
    for (std::size_t i = 0; i < trace.operators.size(); ++i)
      if (!is_alone[trace.operators[i].module]) operators.push_back(i);
    return operators;
  }

  void found(const std::string& what) {
    const TracedOperator& op = first_.operators[op_];
    result_.contradictions.push_back(fmt::format("{} in {}: {}", op.record.name, first_.modules[op.module].path, what));
  }

  /// Request symbols must differ to prove anything, all others must not.
  void symbols() {
    for (const auto& [name, value] : first_.binding) {
      const auto other = second_.binding.find(name);
      if (other == second_.binding.end() && !result_.alone.empty() && is_request(name)) continue;
      if (other == second_.binding.end()) {
        result_.contradictions.push_back(fmt::format("symbol {} has no value in the second pass", name));
      } else if (other->second == value && is_request(name)) {
        result_.unchanged.push_back(name);
      }
    }
  }

  /// A symbol whose own single-symbol label a request decides.
  bool is_request(const std::string& name) const {
    for (const TracedOperator& op : first_.operators)
      for (const Argument& argument : op.record.arguments) {
        const auto* tensor = std::get_if<TensorRecord>(&argument.value);
        if (tensor == nullptr) continue;
        for (const Dim& dim : tensor->dims) {
          if (dim.label && dim.label->is_request_driven() && dim.label->symbols() == std::set<std::string>{name}) {
            return true;
          }
        }
      }
    return false;
  }

  /// Of FlashAttention only the first: the others are work space, which it does or does not need.
  static std::size_t results_of(const OperatorRecord& record) {
    const std::size_t most = record.name.starts_with("_vllm_fa") ? 1 : record.outputs.size();
    return std::min(most, record.outputs.size());
  }

  bool same_call() {
    const OperatorRecord &a = first_.operators[op_].record, &b = second_.operators[other_].record;
    if (a.name == b.name && a.overload == b.overload && a.arguments.size() == b.arguments.size() &&
        results_of(a) == results_of(b)) {
      return true;
    }
    found(fmt::format("the second pass calls {} there", b.name));
    return false;
  }

  void compare_call(const OperatorRecord& a, const OperatorRecord& b) {
    for (std::size_t i = 0; i < a.arguments.size(); ++i) compare(a.arguments[i], b.arguments[i]);
    for (std::size_t i = 0; i < results_of(a); ++i) {
      compare(a.outputs[i], b.outputs[i], fmt::format("result {}", i));
    }
  }

  void compare(const Argument& a, const Argument& b) {
    if (a.value.index() != b.value.index()) return found(fmt::format("'{}' is of another type", a.name));
    if (const auto* tensor = std::get_if<TensorRecord>(&a.value)) {
      compare(*tensor, std::get<TensorRecord>(b.value), a.name);
    } else if (const auto* tensors = std::get_if<std::vector<TensorRecord>>(&a.value)) {
      const auto& others = std::get<std::vector<TensorRecord>>(b.value);
      if (tensors->size() != others.size()) return found(fmt::format("'{}' has another length", a.name));
      for (std::size_t i = 0; i < tensors->size(); ++i) compare((*tensors)[i], others[i], a.name);
    } else if (const auto* integer = std::get_if<Dim>(&a.value)) {
      compare_integer(*integer, std::get<Dim>(b.value), a.name);
    } else if (const auto* integers = std::get_if<Dims>(&a.value)) {
      const Dims& others = std::get<Dims>(b.value);
      if (integers->size() != others.size()) return found(fmt::format("'{}' has another length", a.name));
      for (std::size_t i = 0; i < integers->size(); ++i) compare_integer((*integers)[i], others[i], a.name);
    }
  }

  void compare_integer(const Dim& a, const Dim& b, const std::string& name) {
    const bool known = std::find(kBatchArguments.begin(), kBatchArguments.end(), name) != kBatchArguments.end();
    if (a.label) {
      compare_dim(a, b, name);
    } else if (a.size != b.size && !known && !follows_a_label(a, b)) {
      found(fmt::format("integer '{}' is {}, then {}, and nobody knows why", name, a.size, b.size));
    }
  }

  /// Whether a plain integer is what a dimension of the call's tensors says in both passes, as in view(x.size(0), …).
  bool follows_a_label(const Dim& a, const Dim& b) const {
    const OperatorRecord &x = first_.operators[op_].record, &y = second_.operators[other_].record;
    for (std::size_t i = 0; i < x.outputs.size(); ++i)
      for (std::size_t dim = 0; dim < std::min(x.outputs[i].dims.size(), y.outputs[i].dims.size()); ++dim) {
        const Dim &one = x.outputs[i].dims[dim], &other = y.outputs[i].dims[dim];
        if (one.label && one.size == a.size && other.size == b.size) return true;
      }
    return false;
  }

  void compare(const TensorRecord& a, const TensorRecord& b, const std::string& name) {
    if (a.defined != b.defined || a.dims.size() != b.dims.size() || a.dtype != b.dtype) {
      return found(fmt::format("'{}' has another rank or type", name));
    }
    for (std::size_t i = 0; i < a.dims.size(); ++i) {
      compare_dim(a.dims[i], b.dims[i], fmt::format("{} dimension {}", name, i));
    }
  }

  void compare_dim(const Dim& a, const Dim& b, const std::string& name) {
    if (!a.label || !b.label) {
      if (a.size != b.size) found(fmt::format("{} has no label and is {}, then {}", name, a.size, b.size));
      return;
    }
    ++(a.label->is_request_driven() ? result_.request_dims : result_.model_dims);
    if (*a.label != *b.label) {
      return found(fmt::format("{} is {}, then {}", name, a.label->text(), b.label->text()));
    }
    if (const std::int64_t value = a.label->evaluate(second_.binding); value != b.size) {
      return found(fmt::format("{} is {}, which is {} in the second pass, but its size is {}", name, a.label->text(),
                               value, b.size));
    }
    if (!a.label->is_request_driven() && a.size != b.size) {
      found(fmt::format("{} is {}, which no request decides, but {}, then {}", name, a.label->text(), a.size, b.size));
    }
  }

  void branches() {
    const auto decisions = [](const Trace& trace) {
      std::map<std::string, std::int64_t> all;
      for (const Concretisation& entry : trace.concretisations)
        if (!entry.what.starts_with("int(")) all.emplace(entry.what, entry.result);
      return all;
    };
    const auto a = decisions(first_), b = decisions(second_);
    for (const auto& [what, result] : a) {
      const auto other = b.find(what);
      if (other == b.end()) {
        result_.branches.push_back(fmt::format("{} was asked in the first pass alone", what));
      } else if (other->second != result) {
        result_.branches.push_back(fmt::format("{} was {}, then {}", what, result != 0, other->second != 0));
      }
    }
    for (const auto& [what, result] : b)
      if (!a.contains(what)) result_.branches.push_back(fmt::format("{} was asked in the second pass alone", what));
  }

  const Trace &first_, &second_;
  std::size_t op_ = 0, other_ = 0;  ///< that are compared
  PassCheck result_;
};

}  // namespace

PassCheck check_passes(const Trace& first, const Trace& second) { return Comparison(first, second).check(); }

}  // namespace dooly::profiling
