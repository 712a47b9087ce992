#include "profiling_trace/module_tree.hpp"

#include <nlohmann/json.hpp>

namespace dooly::profiling {

namespace {

using nlohmann::json;

json dim_json(const Dim& dim) {
  json out = {{"size", dim.size}};
  if (dim.label) {
    out["label"] = dim.label->text();
    out["request"] = dim.label->is_request_driven();
  }
  return out;
}

json tensor_json(const TensorRecord& tensor) {
  if (!tensor.defined) return nullptr;
  json dims = json::array();
  for (const Dim& dim : tensor.dims) dims.push_back(dim_json(dim));
  return {{"dtype", tensor.dtype}, {"dims", std::move(dims)}};
}

struct ValueJson {
  json operator()(std::monostate) const { return nullptr; }
  json operator()(const TensorRecord& tensor) const { return tensor_json(tensor); }
  json operator()(const std::vector<TensorRecord>& tensors) const {
    json list = json::array();
    for (const TensorRecord& tensor : tensors) list.push_back(tensor_json(tensor));
    return list;
  }
  json operator()(const Dim& dim) const { return dim.label ? dim_json(dim) : json(dim.size); }
  json operator()(const Dims& dims) const {
    json list = json::array();
    for (const Dim& dim : dims) list.push_back((*this)(dim));
    return list;
  }
  json operator()(double number) const { return number; }
  json operator()(bool value) const { return value; }
  json operator()(const std::string& text) const { return text; }
};

json operator_json(const TracedOperator& op) {
  json arguments = json::object(), results = json::array();
  for (const Argument& argument : op.record.arguments) {
    json value = std::visit(ValueJson(), argument.value);
    if (!value.is_null()) arguments[argument.name] = std::move(value);
  }
  for (std::size_t i = 0; i < op.record.outputs.size(); ++i) {
    json result = tensor_json(op.record.outputs[i]);
    if (!op.record.output_names[i].empty()) result["argument"] = op.record.output_names[i];
    results.push_back(std::move(result));
  }
  json out = {{"operator", op.record.name}, {"arguments", std::move(arguments)}, {"results", std::move(results)}};
  if (!op.record.overload.empty()) out["overload"] = op.record.overload;
  if (op.seconds > 0) out["seconds"] = op.seconds;
  if (!op.kernels.empty()) out["kernels"] = op.kernels;
  return out;
}

json module_json(const Trace& trace, const FoldedModule& module) {
  json steps = json::array();
  for (const FoldedModule::Step& step : module.steps) {
    steps.push_back(step.is_module ? module_json(trace, module.modules[step.index])
                                   : operator_json(trace.operators[step.index]));
  }
  json names = json::array();
  for (const std::size_t equal : module.equals) names.push_back(trace.modules[equal].path);
  json out = {{"kind", trace.modules[module.module].kind}, {"modules", std::move(names)}, {"steps", std::move(steps)}};
  const std::uint32_t times = trace.modules[module.module].times;
  if (times > 1) out["times"] = times;  // equal parents counted
  return out;
}

}  // namespace

std::string trace_json(const Trace& trace) {
  json decisions = json::array();
  for (const Concretisation& entry : trace.concretisations) {
    decisions.push_back({{"what", entry.what}, {"result", entry.result}});
  }
  json out = {{"symbols", trace.binding},
              {"concretisations", std::move(decisions)},
              {"unlabelled", unlabelled_dims(trace)},
              {"seconds", trace.seconds},
              {"trace", module_json(trace, fold(trace))}};
  if (!trace.outside.empty()) out["outside"] = trace.outside;
  return out.dump(1) + "\n";
}

}  // namespace dooly::profiling
