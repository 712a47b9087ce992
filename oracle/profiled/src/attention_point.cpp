#include "oracle_profiled/attention_point.hpp"

#include <algorithm>
#include <vector>

namespace dooly::oracle {
namespace {

enum Coordinate { kChunks, kQuery, kContext, kDecodes, kMost, kLong, kLongContext };

}  // namespace

AttentionModel::Result attention_at(const AttentionModel& model, const SamplePoint& point) {
  const std::vector<PrefillChunk> chunks(
      point[kChunks], {static_cast<std::uint32_t>(point[kQuery]), static_cast<std::uint32_t>(point[kContext])});
  const std::uint64_t many = std::min(point[kLong], point[kDecodes]), few = point[kDecodes] - many;
  BatchShape shape;
  shape.decodes = static_cast<std::uint32_t>(point[kDecodes]);
  shape.decode_context = few * point[kMost] + many * point[kLongContext];
  shape.decode_context_squares = few * point[kMost] * point[kMost] + many * point[kLongContext] * point[kLongContext];
  const auto cube = [](std::uint64_t context) { return context * context * context; };
  shape.decode_context_cubes = few * cube(point[kMost]) + many * cube(point[kLongContext]);
  shape.decode_longest =
      static_cast<std::uint32_t>(std::max(few > 0 ? point[kMost] : 0, many > 0 ? point[kLongContext] : 0));
  shape.prefill_tokens = static_cast<std::uint32_t>(point[kChunks] * point[kQuery]);
  shape.prefills = chunks;
  return model.at(shape, ChunkSums::of(shape));
}

}  // namespace dooly::oracle
