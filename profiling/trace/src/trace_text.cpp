#include "profiling_trace/module_tree.hpp"

#include "profiling_measure/device_records.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::profiling {

namespace {

std::string dim_text(const Dim& dim) {
  const std::string label = dim.label ? dim.label->text() : "?";
  return label == std::to_string(dim.size) ? label : fmt::format("{}={}", label, dim.size);
}

std::string dims_text(const Dims& dims) {
  std::string all = "[";
  for (const Dim& dim : dims) all += (all.size() > 1 ? ", " : "") + dim_text(dim);
  return all + "]";
}

std::string tensor_text(const TensorRecord& tensor) {
  return tensor.defined ? fmt::format("{}{}", tensor.dtype, dims_text(tensor.dims)) : "none";
}

struct ValueText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(const TensorRecord& tensor) const { return tensor.defined ? tensor_text(tensor) : ""; }
  std::string operator()(const std::vector<TensorRecord>& tensors) const {
    std::string all = "(";
    for (const TensorRecord& tensor : tensors) all += (all.size() > 1 ? ", " : "") + tensor_text(tensor);
    return all + ")";
  }
  std::string operator()(const Dim& dim) const { return dim.label ? dim_text(dim) : std::to_string(dim.size); }
  std::string operator()(const Dims& dims) const {
    std::string all = "(";
    for (const Dim& dim : dims) all += (all.size() > 1 ? ", " : "") + (*this)(dim);
    return all + ")";
  }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& text) const { return text; }
};

class Printer {
 public:
  explicit Printer(const Trace& trace) : trace_(trace) {
    for (const TracedOperator& op : trace.operators) total_ += op.seconds;
    total_ = std::max(total_, trace.seconds);
  }

  std::string print() {
    text_ = "symbols:";
    for (const auto& [name, value] : trace_.binding) text_ += fmt::format(" {}={}", name, value);
    text_ += "\n";
    print_steps(fold(trace_), 0);
    const std::vector<std::string> unlabelled = unlabelled_dims(trace_);
    text_ += fmt::format("{} operators, {} modules, {} unlabelled dimensions\n", trace_.operators.size(),
                         trace_.modules.size() - 1, unlabelled.size());
    for (const std::string& dim : unlabelled) text_ += "  " + dim + "\n";
    return std::move(text_);
  }

 private:
  std::string share(double seconds) const {
    return total_ > 0 ? fmt::format("  {:.1f} %", 100 * seconds / total_) : std::string();
  }

  void print_steps(const FoldedModule& module, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    for (const FoldedModule::Step& step : module.steps) {
      if (!step.is_module) {
        const TracedOperator& op = trace_.operators[step.index];
        text_ += fmt::format("{}{}{}\n", indent, operator_text(op.record), share(step.seconds));
        for (const std::string& kernel : op.kernels)
          text_ += fmt::format("{}  kernel {}\n", indent, kernel_text(kernel));
        continue;
      }
      const FoldedModule& child = module.modules[step.index];
      const TracedModule& first = trace_.modules[child.module];
      const std::size_t count = child.equals.size() * (first.times / trace_.modules[first.parent].times);
      const std::string times = count > 1 ? fmt::format(" ({} times)", count) : "";
      text_ += fmt::format("{}{}: {}{}{}\n", indent, folded_name(trace_, child), trace_.modules[child.module].kind,
                           times, share(child.seconds));
      print_steps(child, depth + 1);
    }
  }

  const Trace& trace_;
  double total_ = 0;
  std::string text_;
};

}  // namespace

std::string operator_text(const OperatorRecord& record) {
  std::string text = record.name + "(";
  bool first = true;
  for (const Argument& argument : record.arguments) {
    const std::string value = std::visit(ValueText(), argument.value);
    if (value.empty()) continue;
    text += fmt::format("{}{} {}", first ? "" : ", ", argument.name, value);
    first = false;
  }
  text += ") ->";
  for (std::size_t i = 0; i < record.outputs.size(); ++i) {
    const std::string& name = record.output_names[i];
    text += fmt::format("{} {}{}", i == 0 ? "" : ",", name.empty() ? "" : name + " ", tensor_text(record.outputs[i]));
  }
  return text;
}

std::string trace_text(const Trace& trace) { return Printer(trace).print(); }

}  // namespace dooly::profiling
