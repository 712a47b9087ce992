#include "profiling_trace/trace.hpp"

#include <fmt/format.h>

namespace dooly::profiling {

namespace {

void find_unlabelled(const TensorRecord& tensor, const std::string& what, std::vector<std::string>& found) {
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    if (!tensor.dims[i].label) found.push_back(fmt::format("{} dimension {} of size {}", what, i, tensor.dims[i].size));
  }
}

}  // namespace

std::vector<std::string> unlabelled_dims(const Trace& trace) {
  std::vector<std::string> found;
  for (const TracedOperator& op : trace.operators) {
    const std::size_t before = found.size();
    for (const Argument& argument : op.record.arguments) {
      const std::string what = fmt::format("{} {}", op.record.name, argument.name);
      if (const auto* tensor = std::get_if<TensorRecord>(&argument.value)) find_unlabelled(*tensor, what, found);
      if (const auto* list = std::get_if<std::vector<TensorRecord>>(&argument.value)) {
        for (const TensorRecord& tensor : *list) find_unlabelled(tensor, what, found);
      }
    }
    for (std::size_t i = 0; i < op.record.outputs.size(); ++i) {
      find_unlabelled(op.record.outputs[i], fmt::format("{} result {}", op.record.name, i), found);
    }
    for (std::size_t i = before; i < found.size(); ++i) {
      if (op.module != 0) found[i] += " in " + trace.modules[op.module].path;
    }
  }
  return found;
}

}  // namespace dooly::profiling
