#include "operator_call.hpp"

#include "profiling_kernels/torch_operators.hpp"
#include "profiling_taint/taint_mode.hpp"
#include "profiling_taint/tainted_int.hpp"
#include "profiling_taint/tensor_labels.hpp"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

namespace dooly::profiling {

namespace {

using Texts = std::vector<std::string_view>;

/// Parts between `separator` outside of brackets.
Texts parts_of(std::string_view text, char separator) {
  Texts parts;
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i == text.size() ? separator : text[i];
    if (c == '[' || c == '(' || c == '{') ++depth;
    if (c == ']' || c == ')' || c == '}') --depth;
    if (c != separator || (depth > 0 && i < text.size())) continue;
    if (i > from) parts.push_back(text.substr(from, i - from));
    from = i + 1;
  }
  return parts;
}

Origin origin_of(std::string_view symbol) { return symbol == "T" || symbol == "R" ? Origin::kRequest : Origin::kModel; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "T", "-1", "2*N*D+K", "T-R".
Expression expression(std::string_view text) {
  Expression sum(0);
  while (!text.empty()) {
    const bool negative = text.front() == '-';
    if (negative || text.front() == '+') text.remove_prefix(1);
    const std::string_view term = text.substr(0, text.find_first_of("+-"));
    Expression product(negative ? -1 : 1);
    for (const std::string_view factor : parts_of(term, '*')) {
      product = product * (is_digit(factor.front()) ? Expression(std::stoll(std::string(factor)))
                                                    : Expression::symbol(factor, origin_of(factor)));
    }
    sum = sum + product;
    text.remove_prefix(term.size());
  }
  return sum;
}

at::ScalarType type_named(std::string_view name) {
  static const std::map<std::string, at::ScalarType, std::less<>> all = {
      {"", at::kFloat},        {"float", at::kFloat},      {"half", at::kHalf},
      {"bf16", at::kBFloat16}, {"long", at::kLong},        {"int", at::kInt},
      {"bool", at::kBool},     {"f8", at::kFloat8_e4m3fn}, {"complex", at::kComplexFloat}};
  return all.at(std::string(name));
}

std::string_view inside(std::string_view bracketed) { return bracketed.substr(1, bracketed.find_last_of("])}") - 1); }

/// Values of arguments at one binding.
class Reader {
 public:
  explicit Reader(const Binding& binding) : binding_(binding) {}

  c10::IValue value(std::string_view text, const c10::TypePtr& declared) const {
    c10::TypePtr type = declared;
    while (type->kind() == c10::TypeKind::OptionalType) type = type->containedType(0);
    if (text == "none") return {};
    if (text == "true" || text == "false") return text == "true";
    if (text.front() == '[') return tensor(text);
    if (text.front() == '{') return tensors(text, type);
    if (text.front() == '(') return integers(text, type);
    if (text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
    if (type->kind() == c10::TypeKind::ScalarTypeType) return type_named(text);
    if (text.find('.') != std::string_view::npos) return std::stod(std::string(text));
    if (type->kind() == c10::TypeKind::FloatType) return std::stod(std::string(text));
    return type->kind() == c10::TypeKind::ListType ? integers(fmt::format("({})", text), type)
                                                   : c10::IValue(integer(text, type));
  }

  std::vector<std::int64_t> sizes(std::string_view bracketed) const {
    std::vector<std::int64_t> all;
    for (const std::string_view size : parts_of(inside(bracketed), ',')) {
      all.push_back(expression(size).evaluate(binding_));
    }
    return all;
  }

 private:
  at::Tensor tensor(std::string_view text) const {
    const std::size_t colon = text.find(':');
    const at::ScalarType type = type_named(colon == std::string_view::npos ? "" : text.substr(colon + 1));
    const bool real = at::isFloatingType(type);
    Labels labels;
    for (const std::string_view size : parts_of(inside(text), ',')) labels.push_back(expression(size));
    const Untraced unseen;
    const at::Tensor made = at::full(sizes(text), real ? 0.5 : 1.0, at::kFloat).to(type);
    if (text.find('?') == std::string_view::npos) set_labels(made, labels);
    return made;
  }

  c10::IValue tensors(std::string_view text, const c10::TypePtr& type) const {
    const bool optional = type->containedType(0)->kind() == c10::TypeKind::OptionalType;
    c10::List<std::optional<at::Tensor>> some;
    c10::List<at::Tensor> all;
    for (const std::string_view one : parts_of(inside(text), ';')) {
      some.push_back(one == "none" ? std::nullopt : std::optional(tensor(one)));
      if (!optional) all.push_back(tensor(one));
    }
    return optional ? c10::IValue(some) : c10::IValue(all);
  }

  /// Tainted where the schema takes a symbolic one, as callers pass it.
  c10::SymInt integer(std::string_view text, const c10::TypePtr& type) const {
    const Expression label = expression(text);
    const std::int64_t value = label.evaluate(binding_);
    const bool symbolic = type->kind() == c10::TypeKind::SymIntType || type->kind() == c10::TypeKind::NumberType;
    return symbolic ? tainted_int(value, label.constant() ? Expression(value) : label) : c10::SymInt(value);
  }

  c10::IValue integers(std::string_view text, const c10::TypePtr& type) const {
    std::vector<c10::SymInt> all;
    for (const std::string_view one : parts_of(inside(text), ',')) all.push_back(integer(one, type->containedType(0)));
    return c10::IValue(c10::SymIntArrayRef(all));
  }

  const Binding& binding_;
};

std::vector<c10::IValue> arguments_of(const c10::FunctionSchema& schema, const OperatorCase& one,
                                      const Binding& binding) {
  std::map<std::string, std::string_view, std::less<>> given;
  for (const std::string_view argument : parts_of(one.arguments, ' ')) {
    const std::size_t equals = argument.find('=');
    given.emplace(argument.substr(0, equals), argument.substr(equals + 1));
  }
  std::vector<c10::IValue> values;
  for (const c10::Argument& argument : schema.arguments()) {
    if (const auto found = given.find(argument.name()); found != given.end()) {
      values.push_back(Reader(binding).value(found->second, argument.real_type()));
      given.erase(found);
    } else if (argument.default_value() || argument.type()->kind() == c10::TypeKind::OptionalType) {
      values.push_back(argument.default_value().value_or(c10::IValue()));
    } else {
      throw std::invalid_argument(fmt::format("no value for '{}'", argument.name()));
    }
  }
  if (!given.empty()) throw std::invalid_argument(fmt::format("the schema has no '{}'", given.begin()->first));
  return values;
}

void append(const c10::IValue& value, std::vector<at::Tensor>& all) {
  if (value.isTensor() && value.toTensor().defined()) {
    all.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) append(item, all);
  }
}

thread_local std::vector<at::Tensor> stand_in_results;

void stand_in(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  stack->resize(stack->size() - handle.schema().arguments().size());
  for (const c10::Argument& returned : handle.schema().returns()) {
    const bool list = returned.type()->kind() == c10::TypeKind::ListType;
    stack->push_back(list ? c10::IValue(stand_in_results) : c10::IValue(stand_in_results.at(0)));
  }
}

/// Defines an operator that needs a GPU, once, and keeps what it is to return next.
void prepare_stand_in(const OperatorCase& one, const Binding& binding) {
  static std::map<std::string, torch::Library> libraries;
  const std::string name = operator_name(one);
  const std::string space = name.substr(0, name.find(':')), own = name.substr(space.size() + 2);
  if (!c10::Dispatcher::singleton().findSchema({name, ""})) {
    auto& library =
        libraries.try_emplace(name, torch::Library::FRAGMENT, space, std::nullopt, __FILE__, __LINE__).first->second;
    library.def(std::string(one.schema).substr(space.size() + 2).c_str());
    library.impl(own.c_str(), torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                                              torch::CppFunction::makeFromBoxedFunction<&stand_in>()));
  }
  stand_in_results.clear();
  for (const std::string_view sizes : parts_of(one.results == nullptr ? "" : one.results, ';')) {
    stand_in_results.push_back(at::empty(Reader(binding).sizes(sizes)));
  }
}

c10::OperatorName dispatched_name(const OperatorCase& one) {
  const std::string name = operator_name(one), plain = name.substr(0, name.find('.'));
  return {plain, plain.size() < name.size() ? name.substr(plain.size() + 1) : ""};
}

/// Returned and written tensors.
std::vector<at::Tensor> called(const c10::OperatorHandle& handle, std::vector<c10::IValue> stack) {
  std::vector<at::Tensor> written, tensors;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const auto* alias = handle.schema().arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) append(stack[i], written);
  }
  handle.callBoxed(stack);
  for (const c10::IValue& value : stack) append(value, tensors);
  for (const at::Tensor& one : written) {
    const auto same = [&](const at::Tensor& tensor) { return tensor.is_same(one); };
    if (std::none_of(tensors.begin(), tensors.end(), same)) tensors.push_back(one);
  }
  return tensors;
}

Outcome outcome_of(const std::vector<at::Tensor>& tensors) {
  Outcome outcome;
  for (const at::Tensor& tensor : tensors) {
    outcome.labels.push_back(labels_of(tensor));
    outcome.sizes.push_back(tensor.sizes().vec());
  }
  return outcome;
}

}  // namespace

std::string operator_name(const OperatorCase& one) {
  const std::string_view schema(one.schema), name = schema.substr(0, schema.find('('));
  return name.find("::") == std::string_view::npos ? fmt::format("aten::{}", name) : std::string(name);
}

Outcome run_operator(const OperatorCase& one, const Binding& binding) {
  register_torch_operators();
  if (std::string_view(one.schema).find('(') != std::string_view::npos) prepare_stand_in(one, binding);
  TaintMode mode(binding, nullptr);
  const c10::OperatorName name = dispatched_name(one);
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str());
  return outcome_of(called(handle, arguments_of(handle.schema(), one, binding)));
}

std::optional<Outcome> run_in_place(const OperatorCase& one, const Binding& binding) {
  c10::OperatorName name = dispatched_name(one);
  name.name += '_';
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) return std::nullopt;
  TaintMode mode(binding, nullptr);
  return outcome_of(called(*handle, arguments_of(handle->schema(), one, binding)));
}

std::optional<Outcome> run_into(const OperatorCase& one, const Binding& binding) {
  c10::OperatorName name = dispatched_name(one);
  const auto plain = c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str());
  name.overload_name += name.overload_name.empty() ? "out" : "_out";
  auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle && plain.schema().overload_name() == "Tensor") {
    handle = c10::Dispatcher::singleton().findSchema({name.name, "out"});
  }
  if (!handle) return std::nullopt;
  std::vector<at::Tensor> likes;
  {
    const TaintMode mode(binding, nullptr);
    likes = called(plain, arguments_of(plain.schema(), one, binding));
  }
  TaintMode mode(binding, nullptr);
  std::vector<c10::IValue> arguments = arguments_of(plain.schema(), one, binding), all;
  for (std::size_t i = 0, like = 0; i < handle->schema().arguments().size(); ++i) {
    const c10::Argument& argument = handle->schema().arguments()[i];
    const auto known = plain.schema().argumentIndexWithName(argument.name());
    const bool is_list = argument.type()->kind() == c10::TypeKind::ListType;
    if (known) {
      all.push_back(arguments[static_cast<std::size_t>(*known)]);
    } else if (!argument.is_out() || is_list || like >= likes.size()) {
      return std::nullopt;
    } else {
      const Untraced unseen;
      all.push_back(at::empty_like(likes[like++]));
    }
  }
  return outcome_of(called(*handle, std::move(all)));
}

}  // namespace dooly::profiling
