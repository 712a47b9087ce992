#include "profiling_trace/layer_fold.hpp"

#include <fmt/format.h>

namespace dooly::profiling {

namespace {

bool are_alike(const oracle::LayerShape& a, const oracle::LayerShape& b) {
  return a.attention == b.attention && a.moe == b.moe && a.intermediate == b.intermediate;
}

}  // namespace

LayerFold distinct_layers(const oracle::ModelConfig& config) {
  LayerFold fold;
  for (std::size_t layer = 0; layer < config.layers.size(); ++layer) {
    bool known = false;
    for (std::size_t i = 1; i < fold.kept.size() && !known; ++i) {
      known = are_alike(config.layers[fold.kept[i]], config.layers[layer]);
      if (known) ++fold.times[i];
    }
    if (known) continue;
    fold.kept.push_back(layer);
    fold.times.push_back(1);
  }
  return fold;
}

oracle::ModelConfig with_layers(oracle::ModelConfig config, const std::vector<std::size_t>& kept) {
  std::vector<oracle::LayerShape> layers;
  for (const std::size_t layer : kept) layers.push_back(config.layers.at(layer));
  config.layers = std::move(layers);
  return config;
}

void unfold(Trace& trace, const LayerFold& layers) {
  std::size_t layer = 0;
  for (std::size_t i = 1; i < trace.modules.size(); ++i) {  // parents come before their children
    TracedModule& module = trace.modules[i];
    const TracedModule& parent = trace.modules[module.parent];
    module.times = parent.times;
    if (module.kind == "DecoderLayer") {
      module.name = fmt::format("layers.{}", layers.kept.at(layer));
      module.times *= layers.times.at(layer++);
    }
    module.path = parent.path.empty() ? module.name : parent.path + "." + module.name;
  }
  for (TracedOperator& op : trace.operators) {
    op.times = trace.modules[op.module].times;
    trace.seconds += (op.times - 1) * op.seconds;
    op.seconds *= op.times;
  }
}

}  // namespace dooly::profiling
