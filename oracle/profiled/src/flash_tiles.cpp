#include "oracle_profiled/flash_tiles.hpp"

#include "oracle_profiled/rounding.hpp"

#include <algorithm>
#include <variant>

namespace dooly::oracle {
namespace {

constexpr double kSmallRows = 64, kRows = 128;  // query rows of a tile: one sequence's few, or many
constexpr double kRoundedDown = 1 - 1e-12;  // sums and quotients that should be whole are that near
constexpr double kGraphSplits = 32;
constexpr double kPlannedSequences = 992;       // beyond, nothing is split
constexpr double kSplitMargin = 1.1;            // of the blocks that a multiprocessor gets
/// A multiprocessor that has the memory to itself needs for a block so much of what it takes when all of them read.
constexpr double kAlone = 0.5;
/// Measured: 1.5 and 1.05 µs for a block, 3 and 1.6 to start a tile. Memory binds tiles of few rows where all read.
constexpr FlashSchedule::Pace kManyRows{2, 1}, kFewRows{1.5, 0.7};

double clamped(double x, double least, double most) { return std::max(least, std::min(x, most)); }

double blocks_of(double tokens) { return up(tokens / FlashTiles::kBlockTokens); }

std::int64_t number(const OperatorKey& key, const char* attribute, std::int64_t otherwise) {
  const auto found = key.attributes.find(attribute);
  if (found == key.attributes.end()) return otherwise;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value != nullptr ? *value : otherwise;
}

}  // namespace

std::optional<FlashTiles> FlashTiles::of(const OperatorKey& key, const Gpu& gpu) {
  constexpr std::int64_t kHeadDim = 128;  // tiles of other widths have other shapes
  constexpr std::int64_t kPage = 128;     // pages that hold whole blocks are copied by other means
  if (key.kind != "attention" || key.family != "fa3" || key.dims.size() < 3 || key.dims[2] != kHeadDim) return {};
  if (gpu.multiprocessors == 0 || key.dims[1] == 0 || number(key, "block_size", 16) % kPage == 0) return {};
  if (key.attributes.contains("chunk")) return {};
  FlashTiles tiles;
  tiles.heads_ = static_cast<double>(key.dims[0]);
  tiles.kv_heads_ = static_cast<double>(key.dims[1]);
  tiles.group_ = std::max(1.0, tiles.heads_ / tiles.kv_heads_);
  tiles.multiprocessors_ = gpu.multiprocessors;
  tiles.per_multiprocessor_ = 1 / tiles.multiprocessors_;
  tiles.window_ = static_cast<double>(std::max<std::int64_t>(0, number(key, "window", 0)));
  tiles.few_rows_ = FlashSchedule(tiles.multiprocessors_, kFewRows);
  tiles.many_rows_ = FlashSchedule(tiles.multiprocessors_, kManyRows);
  tiles.most_splits_ = MostSplits(gpu.multiprocessors, key.dims[1]);
  return tiles;
}

FlashTiles::MostSplits::MostSplits(std::uint32_t multiprocessors, std::uint64_t kv_heads)
    : kv_heads_(static_cast<double>(kv_heads)) {
  constexpr double kFull = 0.8;      // share of the multiprocessors that one tile each must fill
  constexpr double kNearly = 0.85;   // of the fullest waves
  const double places = multiprocessors;
  std::vector<std::uint8_t> splits;
  for (double tiles = kv_heads_; tiles < kFull * places; tiles += kv_heads_) {
    const auto filled = [&](double each) { return tiles * each / places / up(tiles * each / places); };
    double fullest = 0;
    for (double most = 1; most <= kMost; ++most) {
      if (most <= places) fullest = std::max(fullest, filled(most));
      double fewest = 1;
      while (most > kNeverSplit && filled(fewest) < kNearly * fullest) ++fewest;
      splits.push_back(static_cast<std::uint8_t>(fewest));
    }
  }
  splits_ = std::make_shared<const std::vector<std::uint8_t>>(std::move(splits));
}

/// What the kernel's own rule says when it is left to choose (it pretends that there is one sequence), by its size:
/// none if one tile each fills the device, else the fewest that fill its waves nearly as well as any.
double FlashTiles::most_splits(double query, double longest, bool is_windowed) const {
  const double rows = query * group_;
  const double tiles = kv_heads_ * up(rows / (rows <= kSmallRows && !is_windowed ? kSmallRows : kRows));
  if (tiles >= multiprocessors_) return 1;
  const double blocks = blocks_of(is_windowed ? std::min(longest, window_ + kRows) : longest);
  return most_splits_.of(tiles, blocks);
}

/// What of a launch is cut how. Counts of tiles are of all sequences and KV heads.
struct FlashTiles::Plan {
  bool is_windowed = false;
  double most_splits = 1;
  double tile_rows = kSmallRows;
  Cut few, many, chunk;
  double few_tiles = 0, many_tiles = 0, tiles = 0;
  double few_longest = 0, many_longest = 0, decode_blocks = 0;
  FlashStairs stairs;
};

FlashTiles::Steps FlashTiles::steps_of(const Launch& decodes) const {
  return {blocks_of(decodes.attended), blocks_of(decodes.long_attended), is_windowed(decodes)};
}

/// A tile begun counts half of a block on average; the parts of a context that is split are whole ones.
inline void FlashTiles::count_stairs(const Launch& l, double chunk_tiles, Plan& plan) const {
  const double kv = l.query + l.context, rows = plan.tile_rows / group_;
  const double top = window_ > 0 ? std::min(kv, window_ + rows) : kv;
  const double bottom = std::min(top, l.context + rows);
  const auto blocks = [&](double tokens) {
    if (plan.chunk.splits > 1) return up(blocks_of(tokens) / plan.chunk.splits);
    return std::max(1.0, tokens / kBlockTokens + 0.5);
  };
  FlashStairs& stairs = plan.stairs;
  stairs = {.tiles = chunk_tiles,
            .flat = top < kv ? clamped((kv - top) / rows, 0, chunk_tiles - 1) : 0,
            .first = blocks(top),
            .last = blocks(bottom),
            .copies = l.chunks * kv_heads_ * plan.chunk.splits};
  if (stairs.tiles > stairs.flat + 1) stairs.slope = (stairs.first - stairs.last) / (stairs.tiles - stairs.flat - 1);
}

/// `share`: of the blocks of a KV head, for each multiprocessor.
void FlashTiles::split(Plan& plan, double share) {
  const double blocks = std::max(1.0, up(share));
  for (Cut* cut : {&plan.few, &plan.many, &plan.chunk})
    cut->splits = clamped(up(cut->blocks / blocks), 1, plan.most_splits);
}

// Inlined by force: a plan and its terms stay in registers, and a launch without chunks costs half.
template <bool kHasChunks, bool kHasWindow>
[[gnu::always_inline]] inline FlashTiles::Plan FlashTiles::plan(const Launch& l) const {
  const bool has_long = l.long_decodes > 0;
  const double kv = kHasChunks ? l.query + l.context : 0, query = kHasChunks ? l.query : 1;
  const double longest = std::max(std::max(l.decodes > 0 ? l.attended : 0, has_long ? l.long_attended : 0), kv);
  const double sequences = l.decodes + l.long_decodes + (kHasChunks ? l.chunks : 0);
  const double tokens = kHasChunks ? l.decodes + l.long_decodes + l.chunks * l.query : sequences;
  Plan plan;
  if (kHasWindow) plan.is_windowed = kHasChunks ? longest > window_ : is_windowed(l);
  if (query * group_ > kSmallRows || plan.is_windowed) plan.tile_rows = kRows;
  plan.most_splits = tokens <= kGraphTokens          ? kGraphSplits
                     : sequences > kPlannedSequences ? 1
                                                     : most_splits(query, longest, plan.is_windowed);
  plan.few.blocks = blocks_of(l.attended);
  plan.many.blocks = has_long ? blocks_of(l.long_attended) : 0;
  plan.chunk.blocks = kHasChunks ? blocks_of(kv) : 0;
  const double chunk_tiles = kHasChunks ? up(query * group_ / plan.tile_rows) : 0;
  if (plan.most_splits > 1) {
    double planned = l.decodes * plan.few.blocks + l.long_decodes * plan.many.blocks;
    if (kHasChunks) planned += l.chunks * chunk_tiles * plan.chunk.blocks;
    // Often a whole number: in the kernel's order.
    const double share = planned * kSplitMargin * kv_heads_ / multiprocessors_;
    if (std::max(std::max(plan.few.blocks, plan.many.blocks), plan.chunk.blocks) > share) split(plan, share);
  }
  if (kHasWindow && plan.is_windowed) {  // the shares count what a window hides, the tiles pass it over
    const double most = blocks_of(window_) + 1;
    plan.few.blocks = std::min(plan.few.blocks, most);
    plan.many.blocks = std::min(plan.many.blocks, most);
  }
  plan.few.longest = plan.few.splits > 1 ? up(plan.few.blocks / plan.few.splits) : plan.few.blocks;
  plan.many.longest = plan.many.splits > 1 ? up(plan.many.blocks / plan.many.splits) : plan.many.blocks;
  plan.few_tiles = l.decodes * kv_heads_ * plan.few.splits;
  plan.many_tiles = l.long_decodes * kv_heads_ * plan.many.splits;
  plan.few_longest = plan.few_tiles > 0 ? plan.few.longest : 0;
  plan.many_longest = plan.many_tiles > 0 ? plan.many.longest : 0;
  plan.decode_blocks = plan.few_tiles * plan.few_longest + plan.many_tiles * plan.many_longest;
  plan.tiles = plan.few_tiles + plan.many_tiles;
  if (!kHasChunks) return plan;
  count_stairs(l, chunk_tiles, plan);
  plan.tiles += plan.stairs.all_tiles();
  return plan;
}

/// Blocks until the last tile of decodes of two lengths ends.
inline double FlashTiles::decodes_end(const Plan& plan) const {
  const FlashSchedule& schedule = plan.tile_rows > kSmallRows ? many_rows_ : few_rows_;
  const double last = kv_heads_ * plan.many.splits;
  if (schedule.is_at_once(plan.tiles))
    return schedule.end({plan.few_tiles, plan.few_longest, plan.many_tiles, plan.many_longest, last});
  // The last parts of contexts are shorter, and let those that have no place yet begin sooner.
  return schedule.end(
      {plan.few_tiles, plan.few.blocks / plan.few.splits, plan.many_tiles, plan.many.blocks / plan.many.splits, last});
}

/// The same of chunks behind decodes, if any.
inline double FlashTiles::chunks_end(const Plan& plan) const {
  const double blocks = many_rows_.end(
      {plan.few_tiles, plan.few_longest, plan.many_tiles, plan.many_longest, kv_heads_ * plan.many.splits},
      plan.stairs);
  return plan.tile_rows > kSmallRows ? blocks : blocks * clamped(plan.tiles * per_multiprocessor_, kFewRows.alone, 1);
}

/// The same of equal decodes: whole waves, each of which ends when memory has brought its blocks, or when one tile is
/// through alone.
inline double FlashTiles::waves_end(const Launch& l, const Plan& plan) const {
  const double full = down(plan.few_tiles / multiprocessors_), rest = plan.few_tiles - full * multiprocessors_;
  const double tokens = plan.is_windowed ? std::min(l.attended, window_) : l.attended;
  // Of a block begun half is paid.
  const double read = (plan.few.blocks + tokens / kBlockTokens) / 2 / plan.few.splits;
  const double alone = kAlone * plan.few_longest;
  return full * std::max(alone, read) + (rest > 0 ? std::max(alone, read * rest * per_multiprocessor_) : 0);
}

template <bool kHasChunks, bool kHasWindow>
[[gnu::always_inline]] inline FlashTiles::Terms FlashTiles::terms_of(const Launch& l) const {
  const Plan plan = this->plan<kHasChunks, kHasWindow>(l);
  const bool has_long = l.long_decodes > 0;
  const auto combined = [](double rows, const Cut& cut) { return cut.splits > 1 ? rows * cut.splits : 0; };
  Terms out{};
  out[kLaunch] = 1;
  const double waves = plan.tiles * per_multiprocessor_;
  out[kWaves] = up(waves * kRoundedDown);
  out[kTiles] = waves;
  out[kBlocks] = (plan.decode_blocks + (kHasChunks ? plan.stairs.all() : 0)) * per_multiprocessor_;
  out[kDecodeRead] = decode_read(l);
  double combined_rows = combined(l.decodes, plan.few) + combined(l.long_decodes, plan.many);
  if (kHasChunks) {
    const double kv = l.query + l.context, seen = kHasWindow ? std::min(kv, window_ + l.query) : kv;
    out[kChunkRead] = l.chunks * seen * kv_heads_ * (per_multiprocessor_ / kBlockTokens);
    out[kSchedule] = chunks_end(plan);
    combined_rows += combined(l.chunks * l.query, plan.chunk);
    out[kQueryRows] = l.chunks * l.query * heads_ * per_multiprocessor_ / 16;
  } else if (has_long) {
    out[kSchedule] = decodes_end(plan);
  } else {
    out[kSchedule] = waves_end(l, plan);
  }
  out[kSplitKernel] = plan.most_splits > 1 ? 1 : 0;
  const double deepest = std::max(std::max(plan.few.splits, plan.many.splits), plan.chunk.splits);
  out[kSplits] = deepest > 1 ? 1 : 0;
  out[kDeepest] = deepest > 1 ? deepest : 0;
  out[kCombine] = combined_rows * heads_ * per_multiprocessor_;
  out[kLongest] = plan.many_longest;
  if (!kHasWindow || !plan.is_windowed) return out;
  out[kWindow] = 1;
  out[kWindowBlocks] = out[kSchedule];
  if (!kHasChunks) {  // tiles of many rows, which compute all of them: memory does not bind
    if (!has_long) out[kWindowBlocks] = out[kWaves] * plan.few_longest;
    out[kSchedule] = out[kBlocks] = out[kDecodeRead] = 0;
  }
  return out;
}

FlashTiles::Terms FlashTiles::terms(const Launch& l) const {
  if (window_ > 0) return l.chunks > 0 ? terms_of<true, true>(l) : terms_of<false, true>(l);
  return l.chunks > 0 ? terms_of<true, false>(l) : terms_of<false, false>(l);
}

/// Terms that a launch of this kind does not have are left out: adding what is 0 changes nothing, and costs.
template <bool kHasChunks, bool kHasWindow>
[[gnu::noinline]] double FlashTiles::weighed(const Launch& launch, const Terms& weights) const {
  static_assert(kTerms == 15 && kDecodeRead == 5);
  const Terms terms = terms_of<kHasChunks, kHasWindow>(launch);
  const auto at = [&](std::size_t i) __attribute__((always_inline)) { return weights[i] * terms[i]; };
  double sum = ((at(0) + at(1)) + (at(2) + at(3))) + ((at(4) + at(7)) + (at(8) + at(9))) + (at(13) + at(14));
  if (kHasChunks) sum += at(6) + at(10);
  if (kHasWindow) sum += at(11) + at(12);
  return sum;
}

double FlashTiles::sum_but_read(const Launch& l, const Terms& weights) const {
  if (window_ > 0) return l.chunks > 0 ? weighed<true, true>(l, weights) : weighed<false, true>(l, weights);
  return l.chunks > 0 ? weighed<true, false>(l, weights) : weighed<false, false>(l, weights);
}

}  // namespace dooly::oracle
