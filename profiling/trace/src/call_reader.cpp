#include "call_reader.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dooly::profiling {

void CallReader::fail(const std::string& what) const {
  throw ProfilingError(fmt::format("cannot sign {}: {}", record_.name, what));
}

const Argument* CallReader::argument(std::string_view names) const {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('|'));
    if (const Argument* found = record_.find(name)) return found;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return nullptr;
}

bool CallReader::has(std::string_view names) const {
  const Argument* found = argument(names);
  const auto* tensor = found == nullptr ? nullptr : std::get_if<TensorRecord>(&found->value);
  return tensor != nullptr && tensor->defined;
}

const TensorRecord& CallReader::tensor(std::string_view names) const {
  if (!has(names)) fail(fmt::format("no tensor '{}'", names));
  return std::get<TensorRecord>(argument(names)->value);
}

std::size_t CallReader::list_size(std::string_view name) const {
  const Argument* found = argument(name);
  const auto* list = found == nullptr ? nullptr : std::get_if<std::vector<TensorRecord>>(&found->value);
  return list == nullptr ? 0 : list->size();
}

const TensorRecord& CallReader::list_item(std::string_view name, std::size_t index) const {
  if (index >= list_size(name)) fail(fmt::format("no tensor {} in '{}'", index, name));
  return std::get<std::vector<TensorRecord>>(argument(name)->value)[index];
}

const Dim& CallReader::dim(const TensorRecord& tensor, int at) const {
  const int rank = static_cast<int>(tensor.dims.size()), place = at < 0 ? at + rank : at;
  if (place < 0 || place >= rank) fail(fmt::format("no dimension {} of {}", at, rank));
  return tensor.dims[static_cast<std::size_t>(place)];
}

const Expression& CallReader::label(const TensorRecord& tensor, int at) const {
  const Dim& found = dim(tensor, at);
  if (!found.label) fail(fmt::format("dimension {} of size {} has no label", at, found.size));
  return *found.label;
}

std::uint64_t CallReader::model_size(const TensorRecord& tensor, int at) const {
  const Expression& origin = label(tensor, at);
  if (origin.is_request_driven()) {
    fail(fmt::format("dimension {} is {}, which a request decides, but must be the model's", at, origin.text()));
  }
  return static_cast<std::uint64_t>(dim(tensor, at).size);
}

void CallReader::check_rows(std::string_view names) const { check_rows(tensor(names)); }

void CallReader::check_rows(const TensorRecord& tensor) const {
  const Expression& origin = label(tensor, 0);
  if (!origin.is_request_driven()) fail(fmt::format("rows are {}, which no request decides", origin.text()));
}

std::string CallReader::dtype_of(const TensorRecord& tensor) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames{{{"BFloat16", "bfloat16"},
                                                                                        {"Half", "float16"},
                                                                                        {"Float", "float32"},
                                                                                        {"Float8_e4m3fn", "fp8"},
                                                                                        {"Char", "int8"},
                                                                                        {"Byte", "fp8"},
                                                                                        {"Int", "int32"}}};
  for (const auto& [torch, key] : kNames)
    if (tensor.dtype == torch) return std::string(key);
  return tensor.dtype;
}

std::int64_t CallReader::integer(std::string_view name) const {
  const Argument* found = argument(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<Dim>(&found->value);
  if (value == nullptr) fail(fmt::format("no integer '{}'", name));
  return value->size;
}

double CallReader::number(std::string_view name) const {
  const Argument* found = argument(name);
  if (found != nullptr) {
    if (const auto* value = std::get_if<double>(&found->value)) return *value;
    if (const auto* value = std::get_if<Dim>(&found->value)) return static_cast<double>(value->size);
  }
  fail(fmt::format("no number '{}'", name));
}

bool CallReader::flag(std::string_view name) const {
  const Argument* found = argument(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<bool>(&found->value);
  return value != nullptr && *value;
}

std::string CallReader::text(std::string_view name) const {
  const Argument* found = argument(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  return value == nullptr ? std::string() : *value;
}

}  // namespace dooly::profiling
