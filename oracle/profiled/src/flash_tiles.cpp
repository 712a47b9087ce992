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

/// Blocks of the contexts of a launch, and in how many parts they are cut.
struct FlashTiles::Cuts {
  bool is_windowed = false;
  double most_splits = 1;
  double tile_rows = kSmallRows;
  Cut few, many, chunk;
  double chunk_tiles = 0;  // of one chunk and KV head
  double share = 0;        // of the blocks of a KV head, for each multiprocessor

  bool are_split() const {
    return most_splits > 1 && std::max(std::max(few.blocks, many.blocks), chunk.blocks) > share;
  }
  Cuts split() const {
    const double most = std::max(1.0, up(share));
    const auto of = [&](const Cut& cut) { return Cut{cut.blocks, clamped(up(cut.blocks / most), 1, most_splits)}; };
    Cuts cuts = *this;
    cuts.few = of(few);
    cuts.many = of(many);
    cuts.chunk = of(chunk);
    return cuts;
  }
};

/// The tiles that come of it. Counts of tiles are of all sequences and KV heads.
struct FlashTiles::Plan {
  double few_blocks = 0, many_blocks = 0;  // of a context, as far as its tiles go through them
  double few_longest = 0, many_longest = 0;  // of a tile
  double few_tiles = 0, many_tiles = 0, tiles = 0;
  double decode_blocks = 0;
  FlashStairs stairs;
};

FlashTiles::Steps FlashTiles::steps_of(const Launch& decodes) const {
  return {blocks_of(decodes.attended), blocks_of(decodes.long_attended), is_windowed(decodes)};
}

/// A tile begun counts half of a block on average; the parts of a context that is split are whole ones.
inline void FlashTiles::count_stairs(const Launch& l, const Cuts& cuts, Plan& plan) const {
  const double kv = l.query + l.context, rows = cuts.tile_rows / group_;
  const double top = window_ > 0 ? std::min(kv, window_ + rows) : kv;
  const double bottom = std::min(top, l.context + rows);
  const auto blocks = [&](double tokens) {
    if (cuts.chunk.splits > 1) return up(blocks_of(tokens) / cuts.chunk.splits);
    return std::max(1.0, tokens / kBlockTokens + 0.5);
  };
  const double tiles = cuts.chunk_tiles, flat = top < kv ? clamped((kv - top) / rows, 0, tiles - 1) : 0;
  const double first = blocks(top), last = blocks(bottom);
  plan.stairs = {.tiles = tiles,
                 .flat = flat,
                 .first = first,
                 .last = last,
                 .copies = l.chunks * kv_heads_ * cuts.chunk.splits,
                 .slope = tiles > flat + 1 ? (first - last) / (tiles - flat - 1) : 0};
}

/// Before anything is split. It and what follows are inlined by force: a plan and its terms stay in registers, and a
/// launch without chunks costs half.
template <bool kHasChunks, bool kHasWindow>
[[gnu::always_inline]] inline FlashTiles::Cuts FlashTiles::cuts(const Launch& l) const {
  const bool has_long = l.long_decodes > 0;
  const double kv = kHasChunks ? l.query + l.context : 0, query = kHasChunks ? l.query : 1;
  const double longest = std::max(std::max(l.decodes > 0 ? l.attended : 0, has_long ? l.long_attended : 0), kv);
  const double sequences = l.decodes + l.long_decodes + (kHasChunks ? l.chunks : 0);
  const double tokens = kHasChunks ? l.decodes + l.long_decodes + l.chunks * l.query : sequences;
  Cuts cuts;
  if (kHasWindow) cuts.is_windowed = kHasChunks ? longest > window_ : is_windowed(l);
  if (query * group_ > kSmallRows || cuts.is_windowed) cuts.tile_rows = kRows;
  cuts.most_splits = tokens <= kGraphTokens          ? kGraphSplits
                     : sequences > kPlannedSequences ? 1
                                                     : most_splits(query, longest, cuts.is_windowed);
  cuts.few.blocks = blocks_of(l.attended);
  cuts.many.blocks = has_long ? blocks_of(l.long_attended) : 0;
  cuts.chunk.blocks = kHasChunks ? blocks_of(kv) : 0;
  cuts.chunk_tiles = kHasChunks ? up(query * group_ / cuts.tile_rows) : 0;
  if (cuts.most_splits <= 1) return cuts;
  double planned = l.decodes * cuts.few.blocks + l.long_decodes * cuts.many.blocks;
  if (kHasChunks) planned += l.chunks * cuts.chunk_tiles * cuts.chunk.blocks;
  // Often a whole number: in the kernel's order.
  cuts.share = planned * kSplitMargin * kv_heads_ / multiprocessors_;
  return cuts;
}

template <bool kHasChunks, bool kHasWindow>
[[gnu::always_inline]] inline FlashTiles::Plan FlashTiles::plan(const Launch& l, const Cuts& cuts) const {
  Plan plan;
  plan.few_blocks = cuts.few.blocks;
  plan.many_blocks = cuts.many.blocks;
  if (kHasWindow && cuts.is_windowed) {  // the shares count what a window hides, the tiles pass it over
    const double most = blocks_of(window_) + 1;
    plan.few_blocks = std::min(plan.few_blocks, most);
    plan.many_blocks = std::min(plan.many_blocks, most);
  }
  const auto longest = [](double blocks, double splits) { return splits > 1 ? up(blocks / splits) : blocks; };
  plan.few_tiles = l.decodes * kv_heads_ * cuts.few.splits;
  plan.many_tiles = l.long_decodes * kv_heads_ * cuts.many.splits;
  plan.few_longest = longest(plan.few_blocks, cuts.few.splits);
  plan.many_longest = longest(plan.many_blocks, cuts.many.splits);
  if (!(plan.few_tiles > 0)) plan.few_longest = 0;
  if (!(plan.many_tiles > 0)) plan.many_longest = 0;
  plan.decode_blocks = plan.few_tiles * plan.few_longest + plan.many_tiles * plan.many_longest;
  plan.tiles = plan.few_tiles + plan.many_tiles;
  if (!kHasChunks) return plan;
  count_stairs(l, cuts, plan);
  plan.tiles += plan.stairs.all_tiles();
  return plan;
}

/// Blocks until the last tile of decodes of two lengths ends.
inline double FlashTiles::decodes_end(const Cuts& cuts, const Plan& plan) const {
  const FlashSchedule& schedule = cuts.tile_rows > kSmallRows ? many_rows_ : few_rows_;
  const double last = kv_heads_ * cuts.many.splits;
  if (schedule.is_at_once(plan.tiles))
    return schedule.end({plan.few_tiles, plan.few_longest, plan.many_tiles, plan.many_longest, last});
  // The last parts of contexts are shorter, and let those that have no place yet begin sooner.
  return schedule.end(
      {plan.few_tiles, plan.few_blocks / cuts.few.splits, plan.many_tiles, plan.many_blocks / cuts.many.splits, last});
}

/// The same of chunks behind decodes, if any.
inline double FlashTiles::chunks_end(const Cuts& cuts, const Plan& plan) const {
  const double blocks = many_rows_.end(
      {plan.few_tiles, plan.few_longest, plan.many_tiles, plan.many_longest, kv_heads_ * cuts.many.splits},
      plan.stairs);
  return cuts.tile_rows > kSmallRows ? blocks : blocks * clamped(plan.tiles * per_multiprocessor_, kFewRows.alone, 1);
}

/// The same of equal decodes: whole waves, each of which ends when memory has brought its blocks, or when one tile is
/// through alone.
inline double FlashTiles::waves_end(const Launch& l, const Cuts& cuts, const Plan& plan) const {
  const double full = down(plan.few_tiles / multiprocessors_), rest = plan.few_tiles - full * multiprocessors_;
  const double tokens = cuts.is_windowed ? std::min(l.attended, window_) : l.attended;
  // Of a block begun half is paid.
  const double read = (plan.few_blocks + tokens / kBlockTokens) / 2 / cuts.few.splits;
  const double alone = kAlone * plan.few_longest;
  return full * std::max(alone, read) + (rest > 0 ? std::max(alone, read * rest * per_multiprocessor_) : 0);
}

template <bool kHasChunks, bool kHasWindow>
[[gnu::always_inline]] inline FlashTiles::Terms FlashTiles::terms_of(const Launch& l, const Cuts& cuts) const {
  const Plan plan = this->plan<kHasChunks, kHasWindow>(l, cuts);
  const bool has_long = l.long_decodes > 0;
  const auto combined = [](double rows, const Cut& cut) { return cut.splits > 1 ? rows * cut.splits : 0; };
  Terms out{};
  out[kLaunch] = 1;
  const double waves = plan.tiles * per_multiprocessor_;
  out[kWaves] = up(waves * kRoundedDown);
  out[kTiles] = waves;
  out[kBlocks] = (plan.decode_blocks + (kHasChunks ? plan.stairs.all() : 0)) * per_multiprocessor_;
  out[kDecodeRead] = decode_read(l);
  double combined_rows = combined(l.decodes, cuts.few) + combined(l.long_decodes, cuts.many);
  if (kHasChunks) {
    const double kv = l.query + l.context, seen = kHasWindow ? std::min(kv, window_ + l.query) : kv;
    out[kChunkRead] = l.chunks * seen * kv_heads_ * (per_multiprocessor_ / kBlockTokens);
    out[kSchedule] = chunks_end(cuts, plan);
    combined_rows += combined(l.chunks * l.query, cuts.chunk);
    out[kQueryRows] = l.chunks * l.query * heads_ * per_multiprocessor_ / 16;
  } else if (has_long) {
    out[kSchedule] = decodes_end(cuts, plan);
  } else {
    out[kSchedule] = waves_end(l, cuts, plan);
  }
  out[kSplitKernel] = cuts.most_splits > 1 ? 1 : 0;
  const double deepest = std::max(std::max(cuts.few.splits, cuts.many.splits), cuts.chunk.splits);
  out[kSplits] = deepest > 1 ? 1 : 0;
  out[kDeepest] = deepest > 1 ? deepest : 0;
  out[kCombine] = combined_rows * heads_ * per_multiprocessor_;
  out[kLongest] = plan.many_longest;
  if (!kHasWindow || !cuts.is_windowed) return out;
  out[kWindow] = 1;
  out[kWindowBlocks] = out[kSchedule];
  if (!kHasChunks) {  // tiles of many rows, which compute all of them: memory does not bind
    if (!has_long) out[kWindowBlocks] = out[kWaves] * plan.few_longest;
    out[kSchedule] = out[kBlocks] = out[kDecodeRead] = 0;
  }
  return out;
}

template <bool kHasChunks, bool kHasWindow>
FlashTiles::Terms FlashTiles::terms_of(const Launch& l) const {
  const Cuts cuts = this->cuts<kHasChunks, kHasWindow>(l);
  return terms_of<kHasChunks, kHasWindow>(l, cuts.are_split() ? cuts.split() : cuts);
}

FlashTiles::Terms FlashTiles::terms(const Launch& l) const {
  if (window_ > 0) return l.chunks > 0 ? terms_of<true, true>(l) : terms_of<false, true>(l);
  return l.chunks > 0 ? terms_of<true, false>(l) : terms_of<false, false>(l);
}

/// Σ of terms × weights, all but kDecodeRead. Terms that a launch of this kind does not have are left out: adding what
/// is 0 changes nothing, and costs.
template <bool kHasChunks, bool kHasWindow, bool kIsSplit>
[[gnu::always_inline]] inline double FlashTiles::sum_of(const Terms& terms, const Terms& weights) {
  static_assert(kTerms == 15 && kDecodeRead == 5);
  const auto at = [&](std::size_t i) __attribute__((always_inline)) { return weights[i] * terms[i]; };
  double sum = (at(0) + at(1)) + (at(2) + at(3));
  sum += kIsSplit ? (at(4) + at(7)) + (at(8) + at(9)) : at(4) + at(7);
  sum += kIsSplit ? at(13) + at(14) : at(13);
  if (kHasChunks) sum += at(6) + at(10);
  if (kHasWindow) sum += at(11) + at(12);
  return sum;
}

/// Most launches have nothing split. Their terms are counted apart, where the compiler knows that and divides by none.
template <bool kHasChunks, bool kHasWindow>
[[gnu::noinline]] double FlashTiles::weighed(const Launch& launch, const Terms& weights) const {
  const Cuts cuts = this->cuts<kHasChunks, kHasWindow>(launch);
  if (cuts.are_split()) return weighed_split<kHasChunks, kHasWindow>(launch, cuts.split(), weights);
  return sum_of<kHasChunks, kHasWindow, false>(terms_of<kHasChunks, kHasWindow>(launch, cuts), weights);
}

template <bool kHasChunks, bool kHasWindow>
[[gnu::noinline]] double FlashTiles::weighed_split(const Launch& launch, const Cuts& cuts, const Terms& weights) const {
  return sum_of<kHasChunks, kHasWindow, true>(terms_of<kHasChunks, kHasWindow>(launch, cuts), weights);
}

double FlashTiles::sum_but_read(const Launch& l, const Terms& weights) const {
  if (window_ > 0) return l.chunks > 0 ? weighed<true, true>(l, weights) : weighed<false, true>(l, weights);
  return l.chunks > 0 ? weighed<true, false>(l, weights) : weighed<false, false>(l, weights);
}

}  // namespace dooly::oracle
