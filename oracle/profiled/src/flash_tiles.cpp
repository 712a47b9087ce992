#include "oracle_profiled/flash_tiles.hpp"

#include <algorithm>
#include <variant>

namespace dooly::oracle {
namespace {

constexpr double kSmallRows = 64, kRows = 128;  // query rows of a tile: one sequence's few, or many
constexpr double kGraphTokens = 512;            // vLLM captures graphs up to so many tokens, with the splits fixed:
constexpr std::int64_t kGraphSplits = 32;
constexpr double kPlannedSequences = 992;       // beyond, nothing is split
constexpr double kSplitMargin = 1.1;            // of the blocks that a multiprocessor gets
constexpr double kFull = 0.8;                   // share of the multiprocessors that one tile each must fill
/// A multiprocessor that has the memory to itself needs for a block so much of what it takes when all of them read.
constexpr double kAlone = 0.5;
constexpr double kMuchShorter = 10;  ///< so many times shorter, decodes are gone before a chunk's tiles end

std::int64_t whole(double x) {  // rounded up; x is not negative
  const auto down = static_cast<std::int64_t>(x);
  return down + (static_cast<double>(down) < x ? 1 : 0);
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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
  tiles.window_ = static_cast<double>(std::max<std::int64_t>(0, number(key, "window", 0)));
  return tiles;
}

/// What the kernel's own rule says when it is left to choose (it pretends that there is one sequence), by its size:
/// none if one tile each fills the device, else as many as fill it once.
std::int64_t FlashTiles::most_splits(double tokens, double query, double longest, bool is_windowed) const {
  if (tokens <= kGraphTokens) return kGraphSplits;
  const double rows = query * group_;
  const double tiles = kv_heads_ * static_cast<double>(whole(rows / (rows <= kSmallRows ? kSmallRows : kRows)));
  const double seen = is_windowed ? std::min(longest, window_ + kRows) : longest;
  const std::int64_t blocks = whole(seen / kBlockTokens);
  if (tiles >= kFull * multiprocessors_ || blocks <= 4 || (blocks <= 8 && tiles >= 32)) return 1;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(multiprocessors_ / tiles), 1, blocks);
}

/// Blocks of the tiles of one chunk, that of its last rows first: `flat` have `first` of them, where a window is full;
/// then they fall evenly to `last`.
struct FlashTiles::Staircase {
  double tiles = 0, flat = 0, first = 0, last = 0, copies = 0;
  double slope() const { return tiles > flat + 1 ? (first - last) / (tiles - flat - 1) : 0; }
  double sum(double steps) const {  // of the first so many
    const double falling = std::max(0.0, steps - flat);
    return steps * first - slope() * falling * (falling - 1) / 2;
  }
  double all() const { return copies * sum(tiles); }
  double up_to(double tile) const { return copies * sum(std::min(tile / copies, tiles)); }  // of all copies
  double at(double tile) const {
    return first - slope() * std::max(0.0, static_cast<double>(static_cast<std::int64_t>(tile / copies)) - flat);
  }
};

/// What of a launch is cut how. Counts of tiles are of all sequences and KV heads.
struct FlashTiles::Plan {
  bool is_windowed = false;
  std::int64_t most_splits = 1;
  double tile_rows = kSmallRows;
  Cut few, many, chunk;
  double few_tiles = 0, many_tiles = 0;
  Staircase stairs;

  double few_longest() const { return few_tiles > 0 ? static_cast<double>(few.longest) : 0; }
  double many_longest() const { return many_tiles > 0 ? static_cast<double>(many.longest) : 0; }
  double decode_blocks() const { return few_tiles * few_longest() + many_tiles * many_longest(); }
  double tiles() const { return few_tiles + many_tiles + stairs.copies * stairs.tiles; }
};

FlashTiles::Plan FlashTiles::plan(const Launch& l) const {
  const bool has_chunks = l.chunks > 0, has_long = l.long_decodes > 0;
  const double kv = has_chunks ? l.query + l.context : 0, query = has_chunks ? l.query : 1;
  const double longest = std::max({l.decodes > 0 ? l.attended : 0, has_long ? l.long_attended : 0, kv});
  Plan plan;
  plan.is_windowed = window_ > 0 && longest > window_;
  if (query * group_ > kSmallRows || plan.is_windowed) plan.tile_rows = kRows;
  plan.most_splits = most_splits(l.decodes + l.long_decodes + l.chunks * l.query, query, longest, plan.is_windowed);
  plan.few.blocks = whole(l.attended / kBlockTokens);
  plan.many.blocks = has_long ? whole(l.long_attended / kBlockTokens) : 0;
  plan.chunk.blocks = whole(kv / kBlockTokens);
  const double chunk_tiles = has_chunks ? static_cast<double>(whole(query * group_ / plan.tile_rows)) : 0;
  if (plan.most_splits > 1 && l.decodes + l.long_decodes + l.chunks <= kPlannedSequences) {
    const double planned = l.decodes * static_cast<double>(plan.few.blocks) +
                           l.long_decodes * static_cast<double>(plan.many.blocks) +
                           l.chunks * chunk_tiles * static_cast<double>(plan.chunk.blocks);
    const std::int64_t share = std::max<std::int64_t>(1, whole(planned * kSplitMargin * kv_heads_ / multiprocessors_));
    for (Cut* cut : {&plan.few, &plan.many, &plan.chunk})
      cut->splits = std::clamp<std::int64_t>(divide_up(cut->blocks, share), 1, plan.most_splits);
  }
  for (Cut* cut : {&plan.few, &plan.many}) {  // the shares count what a window hides, the tiles pass it over
    if (plan.is_windowed) cut->blocks = std::min(cut->blocks, whole(window_ / kBlockTokens) + 1);
    cut->longest = divide_up(cut->blocks, cut->splits);
  }
  plan.few_tiles = l.decodes * kv_heads_ * static_cast<double>(plan.few.splits);
  plan.many_tiles = l.long_decodes * kv_heads_ * static_cast<double>(plan.many.splits);
  if (has_chunks) plan.stairs = staircase(l, chunk_tiles, plan);
  return plan;
}

/// A tile begun counts half of a block on average.
FlashTiles::Staircase FlashTiles::staircase(const Launch& l, double chunk_tiles, const Plan& plan) const {
  const double kv = l.query + l.context, rows = plan.tile_rows / group_;
  const auto splits = static_cast<double>(plan.chunk.splits);
  const double top = window_ > 0 ? std::min(kv, window_ + rows) : kv;
  const double bottom = std::min(top, l.context + rows);
  return {.tiles = chunk_tiles,
          .flat = std::clamp((kv - top) / rows, 0.0, chunk_tiles - 1),
          .first = std::max(1.0, (top / kBlockTokens + 0.5) / splits),
          .last = std::max(1.0, (bottom / kBlockTokens + 0.5) / splits),
          .copies = l.chunks * kv_heads_ * splits};
}

/// Blocks until the last tile of chunks ends, behind decodes, which come first.
double FlashTiles::chunks_end(const Plan& plan) const {
  const double decode_tiles = plan.few_tiles + plan.many_tiles, tiles = plan.tiles();
  const double longest_decode = std::max(plan.few_longest(), plan.many_longest());
  const double full_decodes = whole_waves(decode_tiles), full = whole_waves(tiles);
  const double in_full = std::max(0.0, full * multiprocessors_ - decode_tiles);
  double end = (plan.decode_blocks() + plan.stairs.up_to(in_full)) / multiprocessors_;
  if (in_full < plan.stairs.copies * plan.stairs.tiles && tiles > full * multiprocessors_) {
    const double last = plan.stairs.at(in_full);
    end += last;
    // Decodes much shorter than it let it start when they end, not when multiprocessors are free on average.
    if (full_decodes == 0 && tiles - full * multiprocessors_ <= decode_tiles && full == 1) {
      const double share = std::min(1.0, kMuchShorter * longest_decode / last);
      end = share * end + (1 - share) * std::max(longest_decode + last, plan.stairs.first);
    }
  }
  const bool has_long = plan.many_tiles > 0;
  const double level = has_long ? plan.decode_blocks() / multiprocessors_ : full_decodes * longest_decode;
  // The longest decode starts somewhere among the others; equal ones end with their last wave.
  const double decodes_end = has_long ? level / 2 + longest_decode
                                      : level + (decode_tiles > full_decodes * multiprocessors_ ? longest_decode : 0);
  return std::max(
      {end, (plan.decode_blocks() + plan.stairs.all()) / multiprocessors_, decodes_end, plan.stairs.first + level});
}

/// The same of equal decodes: whole waves, each of which ends when memory has brought its blocks, or when one tile is
/// through alone.
double FlashTiles::waves_end(const Launch& l, const Plan& plan) const {
  const double full = whole_waves(plan.few_tiles), rest = plan.few_tiles - full * multiprocessors_;
  const double tokens = plan.is_windowed ? std::min(l.attended, window_) : l.attended;
  // Of a block begun half is paid.
  const double read =
      (static_cast<double>(plan.few.blocks) + tokens / kBlockTokens) / 2 / static_cast<double>(plan.few.splits);
  const double alone = kAlone * plan.few_longest();
  return full * std::max(alone, read) + (rest > 0 ? std::max(alone, read * rest / multiprocessors_) : 0);
}

/// Blocks of all decodes but one of the long ones, after which that may start.
double FlashTiles::before_last_long(const Plan& plan) const {
  const double others = std::max(0.0, plan.many_tiles - kv_heads_ * static_cast<double>(plan.many.splits));
  return (plan.few_tiles * plan.few_longest() + others * plan.many_longest()) / multiprocessors_;
}

FlashTiles::Terms FlashTiles::terms(const Launch& l) const {
  const Plan plan = this->plan(l);
  const bool has_chunks = l.chunks > 0, has_long = l.long_decodes > 0;
  const auto seen = [&](double tokens, double more) { return window_ > 0 ? std::min(tokens, window_ + more) : tokens; };
  const auto read = [&](double count, double tokens) {
    return count * tokens * kv_heads_ / kBlockTokens / multiprocessors_;
  };
  const auto combined = [](const Cut& cut) { return cut.splits > 1 ? static_cast<double>(cut.splits) : 0.0; };
  Terms out{};
  out[kLaunch] = 1;
  out[kWaves] = static_cast<double>(whole(plan.tiles() / multiprocessors_));
  out[kTiles] = plan.tiles() / multiprocessors_;
  out[kBlocks] = (plan.decode_blocks() + plan.stairs.all()) / multiprocessors_;
  out[kDecodeRead] = read(l.decodes, seen(l.attended, 0)) + read(l.long_decodes, seen(l.long_attended, 0));
  out[kChunkRead] = read(l.chunks, seen(l.query + l.context, l.query));
  if (has_chunks) {
    out[kSchedule] = chunks_end(plan);
  } else if (has_long) {
    out[kSchedule] = std::max(out[kBlocks], before_last_long(plan) + kAlone * plan.many_longest());
  } else {
    out[kSchedule] = waves_end(l, plan);
  }
  out[kSplitKernel] = plan.most_splits > 1 ? 1 : 0;
  out[kSplits] = std::max({plan.few.splits, plan.many.splits, plan.chunk.splits}) > 1 ? 1 : 0;
  out[kCombine] = (l.decodes * combined(plan.few) + l.long_decodes * combined(plan.many) +
                   l.chunks * l.query * combined(plan.chunk)) *
                  heads_ / multiprocessors_;
  out[kQueryRows] = l.chunks * l.query * heads_ / multiprocessors_ / 16;
  out[kLongest] = plan.many_longest();
  if (!plan.is_windowed) return out;
  out[kWindow] = 1;
  out[kWindowBlocks] = out[kSchedule];
  if (!has_chunks) {  // tiles of many rows, which compute all of them: memory does not bind
    out[kWindowBlocks] = has_long ? std::max(out[kBlocks], before_last_long(plan) + plan.many_longest())
                                  : out[kWaves] * plan.few_longest();
    out[kSchedule] = out[kBlocks] = out[kDecodeRead] = 0;
  }
  return out;
}

}  // namespace dooly::oracle
