#include "attention_neighbours.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace dooly::oracle {
namespace {

enum Coordinate { kPrefills, kQuery, kContext, kDecodes, kMost, kLong, kLongContext };
constexpr std::size_t kHeads = 0, kKvHeads = 1;

/// What must be equal.
OperatorKey without_heads(OperatorKey key) {
  for (const char* detail : {"scale", "sinks"}) key.attributes.erase(detail);
  key.dims[kHeads] = key.dims[kKvHeads] = 0;
  return key;
}

bool is_usable(const Sample& s) { return s.status == SampleStatus::kOk && s.median_s > 0; }

double ratio_of(const OperatorKey& from, const OperatorKey& to, std::size_t dim) {
  return static_cast<double>(from.dims[dim]) / static_cast<double>(to.dims[dim]);
}

/// How far away, the heads for each head of the cache first.
std::pair<double, double> distance(const OperatorKey& from, const OperatorKey& to) {
  const double heads = std::log(ratio_of(from, to, kHeads)), kv = std::log(ratio_of(from, to, kKvHeads));
  return {std::abs(heads - kv), std::abs(heads) + std::abs(kv)};
}

const SampleSet* nearest(const std::vector<SampleSet>& sets, const OperatorKey& wanted) {
  const OperatorKey common = without_heads(wanted);
  const SampleSet* best = nullptr;
  std::pair<double, double> least{std::numeric_limits<double>::infinity(), 0};
  for (const SampleSet& set : sets) {
    if (set.key.kind != wanted.kind || set.key.dims.size() != wanted.dims.size() || set.key.dims[kHeads] == 0 ||
        set.key.dims[kKvHeads] == 0 || without_heads(set.key) != common)
      continue;
    if (std::none_of(set.samples.begin(), set.samples.end(), is_usable)) continue;
    const auto far = distance(set.key, wanted);
    if (far.second > 2 * std::log(kHeadsReach) || !(far < least)) continue;
    least = far;
    best = &set;
  }
  return best;
}

/// `count` × `ratio` if that is a whole number.
std::optional<std::uint64_t> whole(std::uint64_t count, double ratio) {
  const double scaled = static_cast<double>(count) * ratio;
  if (scaled < 0.5 && count > 0) return std::nullopt;
  if (std::abs(scaled - std::round(scaled)) > 1e-9 * scaled) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(scaled));
}

/// The same heads in as many sequences of the wanted ones.
std::optional<SamplePoint> same_heads(const SamplePoint& point, double heads_ratio, double kv_ratio) {
  const bool is_mixed = point[kPrefills] > 0 && point[kDecodes] > 0;
  if (is_mixed && heads_ratio != kv_ratio) return std::nullopt;
  SamplePoint out = point;
  for (const auto& [coordinate, ratio] :
       {std::pair{kPrefills, heads_ratio}, std::pair{kDecodes, kv_ratio}, std::pair{kLong, kv_ratio}}) {
    const auto count = whole(point[coordinate], ratio);
    if (!count) return std::nullopt;
    out[coordinate] = *count;
  }
  return out;
}

/// Least times of the neighbour: of decodes, of chunks.
struct Floors {
  double decodes = std::numeric_limits<double>::infinity(), chunks = std::numeric_limits<double>::infinity();
  void add(const Sample& s) {
    double& least = s.point[kPrefills] > 0 ? chunks : decodes;
    least = std::min(least, s.median_s);
  }
};

using Identity = std::tuple<ClockRegime, SamplePoint>;

bool is_single(const SamplePoint& point) {
  return (point[kPrefills] == 1 && point[kDecodes] == 0) || (point[kPrefills] == 0 && point[kDecodes] == 1);
}

}  // namespace

NeighbourSamples attention_of_other_heads(const std::vector<SampleSet>& sets, const OperatorKey& wanted) {
  if (wanted.kind != "attention" || wanted.dims.size() < 3 || wanted.dims[kHeads] == 0 || wanted.dims[kKvHeads] == 0)
    return {};
  const SampleSet* neighbour = nearest(sets, wanted);
  if (neighbour == nullptr) return {};
  const double heads_ratio = ratio_of(neighbour->key, wanted, kHeads);
  const double kv_ratio = ratio_of(neighbour->key, wanted, kKvHeads);
  std::map<Identity, Sample> made;
  Floors floors;
  for (const Sample& s : neighbour->samples) {
    if (!is_usable(s)) continue;
    floors.add(s);
    const auto point = same_heads(s.point, heads_ratio, kv_ratio);
    if (!point) continue;
    Sample moved = s;
    moved.point = *point;
    made.emplace(Identity{s.regime, *point}, std::move(moved));
  }
  for (const Sample& s : neighbour->samples) {
    if (!is_usable(s) || !is_single(s.point)) continue;
    const bool is_chunk = s.point[kPrefills] > 0;
    const double least = is_chunk ? floors.chunks : floors.decodes;
    Sample scaled = s;
    scaled.median_s = least + (s.median_s - least) / (is_chunk ? heads_ratio : kv_ratio);
    made.emplace(Identity{s.regime, s.point}, std::move(scaled));
  }
  NeighbourSamples out;
  for (auto& [identity, s] : made) out.samples.push_back(std::move(s));
  if (!out.samples.empty())
    out.note =
        fmt::format("from {} heads, {} of the KV cache", neighbour->key.dims[kHeads], neighbour->key.dims[kKvHeads]);
  return out;
}

}  // namespace dooly::oracle
