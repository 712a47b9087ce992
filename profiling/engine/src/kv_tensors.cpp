#include "profiling_engine/kv_tensors.hpp"

#include "oracle/kv_layout.hpp"

#include <algorithm>

namespace dooly::profiling {

std::vector<KvPlace> kv_places(const oracle::ModelConfig& model, std::uint32_t tensor_parallel,
                               std::uint32_t block_size) {
  const oracle::KvCacheLayout layout =
      oracle::kv_cache_layout(model, tensor_parallel, oracle::DType::kBfloat16, block_size);
  std::vector<KvPlace> places(model.layers.size());
  if (layout.groups.size() == 1) {
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = {0, i};
    return places;
  }
  for (std::size_t first = 0; first < layout.groups.size();) {
    const oracle::KvCacheGroup& kind = layout.groups[first];
    const auto is_alike = [&](const auto& other) { return other.kind == kind.kind && other.window == kind.window; };
    const auto count = static_cast<std::size_t>(std::count_if(layout.groups.begin(), layout.groups.end(), is_alike));
    std::size_t seen = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!is_alike(model.layers[i].attention)) continue;
      places[i] = {first + seen % count, seen / count};
      ++seen;
    }
    first += count;
  }
  return places;
}

}  // namespace dooly::profiling
