#pragma once

#include "oracle/model_config.hpp"
#include "profiling_trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// Layers of a model that stand for those of equal shape. The first layer stands for itself alone: its norm adds no
/// residual.
struct LayerFold {
  std::vector<std::size_t> kept;     ///< in order
  std::vector<std::uint32_t> times;  ///< of each, how many it stands for
};

LayerFold distinct_layers(const oracle::ModelConfig& config);
oracle::ModelConfig with_layers(oracle::ModelConfig config, const std::vector<std::size_t>& kept);

/// Makes a trace of the kept layers one of the whole model: their names are those they have there, and what is in them
/// counts as often as they stand for. Modules of the kind DecoderLayer are the layers, in order.
void unfold(Trace& trace, const LayerFold& layers);

}  // namespace dooly::profiling
