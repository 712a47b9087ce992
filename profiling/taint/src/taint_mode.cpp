#include "profiling_taint/taint_mode.hpp"

#include "profiling_taint/taint_error.hpp"
#include "profiling_taint/tensor_labels.hpp"
#include "record_call.hpp"
#include "rule_call.hpp"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <algorithm>
#include <utility>

namespace dooly::profiling {

namespace {

constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;
thread_local TaintMode* current_mode = nullptr;
thread_local int untraced = 0;  // scopes that are open
thread_local const AroundCall* around_calls = nullptr;  // of the innermost of them

/// A written argument that was labelled before must not become something else.
void keep_consistent(const OperatorRecord& record, const std::vector<Labels>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Argument* argument = record.output_names[i].empty() ? nullptr : record.find(record.output_names[i]);
    const auto* before = argument == nullptr ? nullptr : std::get_if<TensorRecord>(&argument->value);
    if (before == nullptr || before->dims.size() != labels[i].size()) continue;
    for (std::size_t dim = 0; dim < labels[i].size(); ++dim) {
      const Dim& old = before->dims[dim];
      if (old.label && labels[i][dim] && old.size == record.outputs[i].dims[dim].size &&
          *old.label != *labels[i][dim]) {
        throw TaintError(
            fmt::format("{}: dimension {} of the written '{}' is {} (before) or {} (by the operands): "
                        "ambiguous",
                        record.name, dim, argument->name, old.label->text(), labels[i][dim]->text()));
      }
    }
  }
}

void fallback(const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard guard(kKey);
  if (current_mode != nullptr && untraced == 0) return current_mode->run(handle, *stack);
  std::for_each(stack->end() - static_cast<std::ptrdiff_t>(handle.schema().arguments().size()), stack->end(),
                [](c10::IValue& argument) { argument = without_taint(argument); });
  if (around_calls == nullptr || !*around_calls) return handle.callBoxed(*stack);
  (*around_calls)([&] { handle.callBoxed(*stack); });
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace

struct TaintMode::Guard {
  explicit Guard(std::vector<Concretisation>& concretisations) : log(concretisations) {}
  ConcretisationLog log;
  c10::impl::IncludeDispatchKeyGuard include{kKey};
};

Untraced::Untraced(AroundCall around) : around_(std::move(around)), before_(std::exchange(around_calls, &around_)) {
  ++untraced;
}

Untraced::~Untraced() {
  --untraced;
  around_calls = before_;
}

TaintMode::TaintMode(Binding binding, OperatorListener* listener, TaintOptions options)
    : binding_(std::move(binding)),
      listener_(listener),
      options_(std::move(options)) {
  if (current_mode != nullptr) throw TaintError("this thread is traced already");
  guard_ = std::make_unique<Guard>(concretisations_);
  current_mode = this;
}

TaintMode::~TaintMode() { current_mode = nullptr; }

c10::SymInt TaintMode::symbol(std::string_view name, std::int64_t value, Origin origin) {
  const auto [entry, fresh] = binding_.emplace(std::string(name), value);
  if (!fresh && entry->second != value) {
    throw TaintError(fmt::format("symbol '{}' is {} and cannot be {} as well", name, entry->second, value));
  }
  return tainted_int(value, Expression::symbol(name, origin));
}

c10::SymInt TaintMode::size(const at::Tensor& tensor, std::int64_t dim) const {
  const std::int64_t at = dim < 0 ? dim + tensor.dim() : dim;
  const auto label = labels_of(tensor).at(static_cast<std::size_t>(at));
  return label ? tainted_int(tensor.size(at), *label) : c10::SymInt(tensor.size(at));
}

void TaintMode::label(const at::Tensor& tensor, Labels labels) const {
  set_labels(tensor, labels);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(i));
    if (labels[i] && labels[i]->evaluate(binding_) != size) {
      throw TaintError(fmt::format("label {} of dimension {} is {}, but its size is {}", labels[i]->text(), i,
                                   labels[i]->evaluate(binding_), size));
    }
  }
}

void TaintMode::run(const c10::OperatorHandle& handle, std::vector<c10::IValue>& stack) {
  const c10::FunctionSchema& schema = handle.schema();
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(schema.arguments().size());
  std::vector<c10::IValue> arguments(first, stack.end());
  OperatorRecord record;
  {
    std::vector<Concretisation> unheard;  // handing a size to an operator loses nothing
    const ConcretisationLog quiet(unheard);
    record = record_arguments(schema, arguments);
    for (c10::IValue& argument : arguments) argument = without_taint(argument);
  }
  std::copy(arguments.begin(), arguments.end(), first);
  handle.callBoxed(stack);
  const std::vector<c10::IValue> returned(stack.end() - static_cast<std::ptrdiff_t>(schema.returns().size()),
                                          stack.end());
  const std::vector<CallResult> results = results_of(schema, arguments, returned);
  for (const CallResult& result : results) {
    record.outputs.push_back(tensor_record(result.tensor));
    record.output_names.push_back(result.argument);
  }
  const std::vector<Labels> labels = label_outputs(record, binding_, options_.mapping_rules);
  if (options_.mapping_rules) keep_consistent(record, labels);
  for (std::size_t i = 0; i < results.size(); ++i) {
    set_labels(results[i].tensor, labels[i]);
    for (std::size_t dim = 0; dim < labels[i].size(); ++dim) record.outputs[i].dims[dim].label = labels[i][dim];
  }
  if (listener_ == nullptr) return;
  std::vector<at::Tensor> tensors;
  for (const CallResult& result : results) tensors.push_back(result.tensor);
  listener_->on_operator({record, handle, arguments, tensors});
}

}  // namespace dooly::profiling
