#include "profiling_trace/tracer.hpp"

#include "replay_recorder.hpp"

#include <utility>

namespace dooly::profiling {

namespace {

void complete(Dims& dims, const Dims& known) {
  for (std::size_t i = 0; i < dims.size() && dims.size() == known.size(); ++i) {
    if (!dims[i].label && dims[i].size == known[i].size) dims[i].label = known[i].label;
  }
}

}  // namespace

Tracer::Tracer(TracerOptions options)
    : config_taint_(options.config_taint),
      replays_(std::make_unique<ReplayRecorder>()),
      listener_before_(std::exchange(module_listener, this)),
      mode_({}, this, {.mapping_rules = options.mapping_rules}) {}

Tracer::~Tracer() { module_listener = listener_before_; }

c10::SymInt Tracer::request_symbol(std::string_view name, std::int64_t value) {
  return mode_.symbol(name, value, Origin::kRequest);
}

c10::SymInt Tracer::model_symbol(std::string_view name, std::int64_t value) {
  return config_taint_ ? mode_.symbol(name, value, Origin::kModel) : c10::SymInt(value);
}

void Tracer::enter(std::string_view name, std::string_view kind) {
  const std::string& above = trace_.modules[module_].path;
  const std::size_t index = trace_.modules.size();
  std::string path = above.empty() ? std::string(name) : above + "." + std::string(name);
  trace_.modules[module_].steps.push_back({true, index});
  trace_.modules.push_back({std::string(name), std::string(kind), std::move(path), module_, 1, {}});
  module_ = index;
}

void Tracer::leave() noexcept { module_ = trace_.modules[module_].parent; }

void Tracer::on_operator(const ObservedCall& call) {
  if (!recording_) return;
  const std::size_t index = trace_.operators.size();
  trace_.modules[module_].steps.push_back({false, index});
  trace_.operators.push_back({call.record, module_, 1, 0, {}, nullptr});
  label_late(call);
  trace_.operators.back().replay = replays_->record(call, index);
}

/// A buffer of plain sizes learns what they are when an operator writes its result there.
void Tracer::label_late(const ObservedCall& call) {
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const std::string& name = call.record.output_names[i];
    if (name.empty()) continue;
    const Dims& known = call.record.outputs[i].dims;
    for (Argument& argument : trace_.operators.back().record.arguments) {
      auto* tensor = std::get_if<TensorRecord>(&argument.value);
      if (argument.name == name && tensor != nullptr) complete(tensor->dims, known);
    }
    if (const auto producer = replays_->producer(call.results[i])) {
      complete(trace_.operators[producer->first].record.outputs[producer->second].dims, known);
    }
  }
}

Trace Tracer::finish() {
  recording_ = false;
  trace_.binding = mode_.binding();
  trace_.concretisations = mode_.concretisations();
  return std::exchange(trace_, {});
}

}  // namespace dooly::profiling
