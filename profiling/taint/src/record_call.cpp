#include "record_call.hpp"

#include "profiling_taint/tainted_int.hpp"
#include "profiling_taint/tensor_labels.hpp"

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <algorithm>

namespace dooly::profiling {

namespace {

bool is_integer(const c10::IValue& value) { return value.isInt() || value.isSymInt(); }

Dim dim_of(const c10::IValue& value) {
  if (value.isInt()) return {value.toInt(), std::nullopt};
  const c10::SymInt integer = value.toSymInt();
  const auto label = expression_of(integer);
  return {without_taint(value).toInt(), label};
}

/// Types whose integers are no sizes: element types, layouts, memory formats.
c10::TypeKind element_kind(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  while (type->kind() == c10::TypeKind::OptionalType) type = type->containedType(0);
  return type->kind();
}

Argument::Value list_value(const c10::IValue& value) {
  const auto items = value.toListRef();
  const auto is_tensor = [](const c10::IValue& item) { return item.isTensor() || item.isNone(); };
  if (!items.empty() && std::all_of(items.begin(), items.end(), is_tensor)) {
    std::vector<TensorRecord> tensors;
    for (const c10::IValue& item : items) {
      tensors.push_back(tensor_record(item.isTensor() ? item.toTensor() : at::Tensor()));
    }
    return tensors;
  }
  Dims dims;
  for (const c10::IValue& item : items) {
    if (!is_integer(item)) return std::monostate();
    dims.push_back(dim_of(item));
  }
  return dims;
}

Argument::Value value_of(const c10::Argument& argument, const c10::IValue& value) {
  if (value.isTensor()) return tensor_record(value.toTensor());
  if (is_integer(value)) {
    const c10::TypeKind kind = element_kind(argument);
    if (kind == c10::TypeKind::ScalarTypeType) return std::string(c10::toString(value.toScalarType()));
    if (kind == c10::TypeKind::LayoutType || kind == c10::TypeKind::MemoryFormatType) return std::monostate();
    return dim_of(value);
  }
  if (value.isDouble()) return value.toDouble();
  if (value.isBool()) return value.toBool();
  if (value.isString()) return value.toStringRef();
  if (value.isList()) return list_value(value);
  return std::monostate();
}

bool writes(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

void append_tensors(const c10::IValue& value, std::vector<at::Tensor>& all) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) all.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) append_tensors(item, all);
  }
}

}  // namespace

OperatorRecord record_arguments(const c10::FunctionSchema& schema, const std::vector<c10::IValue>& arguments) {
  OperatorRecord record;
  record.name = schema.name();
  record.overload = schema.overload_name();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    record.arguments.push_back({argument.name(), value_of(argument, arguments[i]), writes(argument)});
  }
  return record;
}

c10::IValue without_taint(const c10::IValue& value) {
  if (value.isSymInt()) {
    const c10::SymInt integer = value.toSymInt();
    if (const auto plain = integer.maybe_as_int()) return *plain;
    return integer.toSymNode()->guard_int("", 0);
  }
  if (!value.isList()) return value;
  const auto items = value.toListRef();
  if (std::none_of(items.begin(), items.end(), [](const c10::IValue& item) { return item.isSymInt(); })) return value;
  c10::List<std::int64_t> plain;
  for (const c10::IValue& item : items) plain.push_back(without_taint(item).toInt());
  return plain;
}

std::vector<CallResult> results_of(const c10::FunctionSchema& schema, const std::vector<c10::IValue>& arguments,
                                   const std::vector<c10::IValue>& returned) {
  std::vector<CallResult> results;
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : returned) append_tensors(value, tensors);
  for (at::Tensor& tensor : tensors) results.push_back({std::move(tensor), ""});
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!writes(schema.arguments()[i])) continue;
    std::vector<at::Tensor> written;
    append_tensors(arguments[i], written);
    for (const at::Tensor& tensor : written) {
      const auto same = std::find_if(results.begin(), results.end(),
                                     [&](const CallResult& result) { return result.tensor.is_same(tensor); });
      if (same == results.end()) {
        results.push_back({tensor, schema.arguments()[i].name()});
      } else {
        same->argument = schema.arguments()[i].name();
      }
    }
  }
  return results;
}

}  // namespace dooly::profiling
