#include "profiling_trace/trace.hpp"

#include <fmt/format.h>

#include <functional>

namespace dooly::profiling {

namespace {

using Visit = std::function<void(const TensorRecord& tensor, const std::string& what)>;

/// Operands and results of one call.
void each_tensor(const OperatorRecord& record, const Visit& visit) {
  for (const Argument& argument : record.arguments) {
    if (const auto* tensor = std::get_if<TensorRecord>(&argument.value)) visit(*tensor, argument.name);
    if (const auto* list = std::get_if<std::vector<TensorRecord>>(&argument.value)) {
      for (const TensorRecord& tensor : *list) visit(tensor, argument.name);
    }
  }
  for (std::size_t i = 0; i < record.outputs.size(); ++i) visit(record.outputs[i], fmt::format("result {}", i));
}

}  // namespace

std::vector<std::string> unlabelled_dims(const Trace& trace) {
  std::vector<std::string> found;
  for (const TracedOperator& op : trace.operators) {
    const std::string place = op.module == 0 ? std::string() : " in " + trace.modules[op.module].path;
    each_tensor(op.record, [&](const TensorRecord& tensor, const std::string& what) {
      for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
        if (tensor.dims[i].label) continue;
        found.push_back(
            fmt::format("{} {} dimension {} of size {}{}", op.record.name, what, i, tensor.dims[i].size, place));
      }
    });
  }
  return found;
}

std::size_t count_dims(const Trace& trace) {
  std::size_t count = 0;
  for (const TracedOperator& op : trace.operators) {
    each_tensor(op.record, [&](const TensorRecord& tensor, const std::string&) { count += tensor.dims.size(); });
  }
  return count;
}

}  // namespace dooly::profiling
