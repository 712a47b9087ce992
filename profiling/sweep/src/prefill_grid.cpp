#include "prefill_grid.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::profiling {
namespace {

using oracle::SamplePoint;
using Numbers = std::vector<std::uint64_t>;

constexpr std::size_t kChunks = 0, kQuery = 1, kContext = 2;

std::set<std::uint64_t> up_to(const Numbers& numbers, std::uint64_t most) {
  std::set<std::uint64_t> taken;
  for (const std::uint64_t number : numbers)
    if (number <= most) taken.insert(number);
  return taken;
}

std::set<std::uint64_t> as_set(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace

/// Queries lie in the middle of tiles of 128, so that what is between them errs to both sides.
PrefillGrid::PrefillGrid(const oracle::AttentionRoofline& work, const SweepLimits& limits)
    : limits_(limits),
      chunks_{kChunks, up_to({1, 4, 16}, limits.max_sequences), up_to({1, 2, 4, 8, 16, 32}, limits.max_sequences)},
      queries_{kQuery, {}, {}},
      contexts_{kContext, {}, {}} {
  const std::uint64_t most = std::min(limits.max_batched_tokens, limits.max_context);
  queries_.taken = up_to({16, 64, 112, 192, 1088, 3136}, most);
  queries_.allowed =
      up_to({16, 32, 64, 112, 192, 256, 320, 448, 576, 832, 1088, 1600, 2112, 3136, 4160, 6208, 8256, 12352}, most);
  queries_.taken.insert(most);
  queries_.allowed.insert(most);
  Numbers start{0, 2048}, all{0, 512, 1024, 2048, 4096, 8192, 16384, 24576};
  if (work.window == 0) {  // the longest that the largest chunk may have, and a short one
    for (const std::uint64_t query : {most, std::min<std::uint64_t>(most, 192)})
      start.push_back(limits.max_context - query);
  }
  contexts_.taken = as_set(prefill_contexts(start, work, limits));
  contexts_.allowed = as_set(prefill_contexts(all, work, limits));
  contexts_.allowed.insert(contexts_.taken.begin(), contexts_.taken.end());
}

void PrefillGrid::add(const SamplePoint& point) {
  if (!queries_.allowed.contains(point[kQuery])) return;
  const bool is_one = point[kChunks] == 1;
  if (is_one ? !contexts_.allowed.contains(point[kContext])
             : point[kContext] != 0 || !chunks_.allowed.contains(point[kChunks]))
    return;
  queries_.taken.insert(point[kQuery]);
  (is_one ? contexts_ : chunks_).taken.insert(is_one ? point[kContext] : point[kChunks]);
}

bool PrefillGrid::fits(const SamplePoint& point) const {
  return point[kChunks] * point[kQuery] <= limits_.max_batched_tokens &&
         point[kQuery] + point[kContext] <= limits_.max_context &&
         point[kChunks] * (point[kQuery] + point[kContext]) <= limits_.max_kv_tokens;
}

std::vector<SamplePoint> PrefillGrid::nodes() const {
  std::vector<SamplePoint> out;
  for (const std::uint64_t query : queries_.taken) {
    for (const std::uint64_t context : contexts_.taken)
      if (const SamplePoint point{1, query, context}; fits(point)) out.push_back(point);
    for (const std::uint64_t chunks : chunks_.taken)
      if (const SamplePoint point{chunks, query, 0}; chunks > 1 && fits(point)) out.push_back(point);
  }
  return out;
}

double PrefillGrid::mean_error(const Axis& axis, std::uint64_t low, std::uint64_t high, const ErrorAt& error_at) const {
  double sum = 0;
  int count = 0;
  for (const SamplePoint& point : nodes()) {
    if (point[axis.coordinate] != low && point[axis.coordinate] != high) continue;
    const double error = error_at(point);
    if (error < 0) continue;
    sum += error;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

bool PrefillGrid::add_line(const ErrorAt& error_at) {
  Axis* best_axis = nullptr;
  std::uint64_t best = 0;
  double best_score = 0;
  for (Axis* axis : {&queries_, &contexts_, &chunks_}) {
    for (auto low = axis->taken.begin(); low != axis->taken.end() && std::next(low) != axis->taken.end(); ++low) {
      const std::uint64_t high = *std::next(low);
      const double middle = std::sqrt((double(*low) + 64) * (double(high) + 64)) - 64;
      std::uint64_t between = 0;
      for (auto each = axis->allowed.upper_bound(*low); each != axis->allowed.end() && *each < high; ++each)
        if (between == 0 || std::abs(double(*each) - middle) < std::abs(double(between) - middle)) between = *each;
      if (between == 0) continue;
      const double octaves = std::log2((double(high) + 64) / (double(*low) + 64));
      const double score = octaves * mean_error(*axis, *low, high, error_at);
      if (score <= best_score) continue;
      best_score = score;
      best_axis = axis;
      best = between;
    }
  }
  if (best_axis == nullptr) return false;
  best_axis->taken.insert(best);
  return true;
}

}  // namespace dooly::profiling
