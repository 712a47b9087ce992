#include "attention_points.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace dooly::profiling {
namespace {

using oracle::SamplePoint;
using Numbers = std::vector<std::uint64_t>;

enum Coordinate { kChunks, kQuery, kContext, kDecodes, kMost, kLong, kLongContext };

}  // namespace

std::vector<std::uint64_t> prefill_contexts(const std::vector<std::uint64_t>& wanted,
                                            const oracle::AttentionRoofline& work, const SweepLimits& limits) {
  std::set<std::uint64_t> contexts;
  const auto window = static_cast<std::uint64_t>(work.window);
  for (const std::uint64_t tokens : wanted)
    if (tokens < limits.max_context && (window == 0 || tokens < 2 * window)) contexts.insert(tokens);
  if (window > 0 && 2 * window < limits.max_context) contexts.insert({window, 2 * window});
  return {contexts.begin(), contexts.end()};
}

namespace {

/// Contexts before a decode, so that it attends to round numbers; those of a window end with it and one far beyond.
Numbers decode_contexts(const Numbers& attended, const oracle::AttentionRoofline& work, const SweepLimits& limits) {
  std::set<std::uint64_t> contexts;
  const auto window = static_cast<std::uint64_t>(work.window);
  for (const std::uint64_t tokens : attended) {
    if (tokens > limits.max_context) continue;
    if (window > 0 && tokens >= window) continue;
    contexts.insert(tokens - 1);
  }
  if (window > 0) {
    contexts.insert(std::min<std::uint64_t>(window, limits.max_context) - 1);
    if (4 * window <= limits.max_context) contexts.insert(4 * window - 1);
  } else {
    contexts.insert(limits.max_context - 1);
  }
  return {contexts.begin(), contexts.end()};
}

Numbers up_to(Numbers numbers, std::uint64_t most) {
  std::erase_if(numbers, [&](std::uint64_t n) { return n > most; });
  if (numbers.empty() || numbers.back() < most) numbers.push_back(most);
  return numbers;
}

class Builder {
 public:
  Builder(const oracle::AttentionRoofline& work, const SweepLimits& limits) : work_(work), limits_(limits) {}

  /// Beyond the cache: the longest contexts that fit it.
  void decodes(std::vector<SamplePoint>& out, const Numbers& counts, const Numbers& attended) const {
    for (const std::uint64_t count : up_to(counts, limits_.max_sequences)) {
      for (const std::uint64_t context : decode_contexts(attended, work_, limits_)) {
        const std::uint64_t fits = limits_.max_kv_tokens / count;
        if (context + 1 <= fits) out.push_back({0, 0, 0, count, context});
      }
    }
  }
  void mixed(std::vector<SamplePoint>& out, const std::array<Numbers, 4>& axes) const {
    for (const std::uint64_t query : axes[0])
      for (const std::uint64_t context : prefill_contexts(axes[1], work_, limits_))
        for (const std::uint64_t decodes : up_to(axes[2], limits_.max_sequences))
          for (const std::uint64_t before : decode_contexts(axes[3], work_, limits_))
            if (fits_mixed(query, context, decodes, before)) out.push_back({1, query, context, decodes, before});
  }
  /// Some chunks beside decodes: served steps end one prompt and begin the next.
  void mixed_chunks(std::vector<SamplePoint>& out) const {
    constexpr std::uint64_t kSome = 3, kBefore = 1023;
    for (const std::uint64_t query : Numbers{128, 640})
      for (const std::uint64_t context : prefill_contexts({0, 2048}, work_, limits_))
        for (const std::uint64_t decodes : Numbers{16, 64})
          if (context <= 2048 && fits_mixed(kSome * query, kSome * context, decodes, kBefore))
            out.push_back({kSome, query, context, decodes, kBefore});
  }
  /// One long decode, or an eighth of them, beside a chunk.
  void mixed_lengths(std::vector<SamplePoint>& out) const {
    constexpr std::uint64_t kFew = 511, kMost = 8191;
    if (kMost >= limits_.max_context) return;
    for (const std::uint64_t query : Numbers{192, 1088})
      for (const std::uint64_t decodes : Numbers{32, 128})
        for (const std::uint64_t many : Numbers{1, decodes / 8})
          if (fits_mixed(query, 0, decodes, kFew + (kMost - kFew) * many / decodes))
            out.push_back({1, query, 0, decodes, kFew, many, kMost});
  }
  /// Two lengths in one batch: one long among short ones, an eighth, a half.
  void ragged(std::vector<SamplePoint>& out) const {
    const std::uint64_t half = limits_.max_sequences / 2;
    for (const std::uint64_t count : Numbers{8, 16, 32, 64, 128, half}) {
      if (count < 8 || count > half) continue;
      for (const std::uint64_t few : Numbers{256, 1024})
        for (const std::uint64_t most : Numbers{2048, 8192, 32768})
          for (const std::uint64_t many : Numbers{1, count / 8, count / 2})
            if (most <= limits_.max_context && many * most + (count - many) * few <= limits_.max_kv_tokens)
              out.push_back({0, 0, 0, count, few - 1, many, most - 1});
    }
  }

 private:
  bool fits_mixed(std::uint64_t query, std::uint64_t context, std::uint64_t decodes, std::uint64_t before) const {
    return query + decodes <= limits_.max_batched_tokens && query + context <= limits_.max_context &&
           decodes + 1 <= limits_.max_sequences + 1 &&
           query + context + decodes * (before + 1) <= limits_.max_kv_tokens;
  }
  oracle::AttentionRoofline work_;
  SweepLimits limits_;
};

double octave(double x) { return std::log2(1 + x); }

/// Few sequences, which are split into unequal shares, and those around the ends of whole waves of tiles.
Numbers counts_at_steps(const oracle::FlashTiles& tiles, std::uint64_t most) {
  std::set<std::uint64_t> counts{2, 3, 5, 6, 7, 9, 12};
  for (const double waves : {1.0, 2.0, 3.0, 5.0}) {
    const auto fill = static_cast<std::uint64_t>(tiles.decodes_in(waves));
    counts.insert({fill, fill + 1, fill + fill / 4});
  }
  std::erase_if(counts, [&](std::uint64_t n) { return n == 0 || n > most; });
  return {counts.begin(), counts.end()};
}

/// Few sequences, which are split, and those at which a multiprocessor needs room for a tile more.
Numbers counts_at_steps(const oracle::DealtKernel& kernel, std::uint64_t most) {
  std::set<std::uint64_t> counts{2, 3, 6, 12};
  for (const double tiles : {1.0, 2.0, 3.0, 4.0, 5.0, 8.0}) {
    const auto fill = static_cast<std::uint64_t>(kernel.decodes_in(tiles));
    counts.insert({fill, fill + 1});
  }
  std::erase_if(counts, [&](std::uint64_t n) { return n == 0 || n > most; });
  return {counts.begin(), counts.end()};
}

}  // namespace

AttentionPart part_of(const SamplePoint& point) {
  if (point[kChunks] > 0) return point[kDecodes] > 0 ? AttentionPart::kMixed : AttentionPart::kPrefill;
  return point[kLong] > 0 && point[kLong] < point[kDecodes] ? AttentionPart::kRagged : AttentionPart::kDecode;
}

AttentionPoints attention_points(AttentionPart part, const oracle::AttentionRoofline& work, const SweepLimits& limits) {
  const Builder build(work, limits);
  AttentionPoints points;
  switch (part) {
    case AttentionPart::kDecode:
      build.decodes(points.start, {1, 4, 16, 64}, {64, 1024, 8192});
      if (work.tiles) {
        build.decodes(points.start, counts_at_steps(*work.tiles, limits.max_sequences), {640, 7168});
        build.decodes(points.start, {6, 24, 100}, {136, 200, 300, 450});  // inside of blocks
      }
      if (work.dealt) {
        build.decodes(points.start, counts_at_steps(*work.dealt, limits.max_sequences), {640, 7168});
        build.decodes(points.start, {6, 24, 100, 384}, {16, 136, 300});
      }
      build.decodes(points.pool,
                    {1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024},
                    {16,   64,   128,  256,  384,  512,   768,   1024,  1280,  1536,
                     2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 65536});
      break;
    case AttentionPart::kPrefill: break;  // PrefillGrid
    case AttentionPart::kMixed:
      build.mixed(points.start, {Numbers{192, 2112}, Numbers{0, 4096}, Numbers{16}, Numbers{512, 4096}});
      build.mixed(points.pool, {Numbers{64, 192, 448, 832, 1088, 2112, 4160}, Numbers{0, 1024, 4096, 16384},
                                Numbers{4, 16, 32, 64, 128}, Numbers{128, 512, 1024, 2048, 4096, 8192}});
      build.mixed_chunks(points.start);
      build.mixed_lengths(points.start);
      break;
    case AttentionPart::kRagged: build.ragged(points.start); break;
  }
  const auto tidy = [](std::vector<SamplePoint>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  tidy(points.start);
  tidy(points.pool);
  std::erase_if(points.pool, [&](const SamplePoint& point) {
    return std::binary_search(points.start.begin(), points.start.end(), point);
  });
  return points;
}

std::array<double, 4> octaves(const SamplePoint& point, const oracle::AttentionRoofline& work) {
  const auto d = [&](Coordinate which) { return static_cast<double>(point[which]); };
  switch (part_of(point)) {
    case AttentionPart::kDecode: {  // a window's own kernel is another place
      const bool is_hidden = work.window > 0 && d(kMost) >= work.window;
      return {octave(d(kDecodes)), octave(work.attended(d(kMost))), is_hidden ? 1.0 : 0.0, 0};
    }
    case AttentionPart::kPrefill: return {octave(d(kChunks)), octave(d(kQuery)), octave(d(kContext)) / 2, 0};
    case AttentionPart::kMixed:
      return {octave(d(kQuery)), octave(d(kContext)) / 2, octave(d(kDecodes)), octave(work.attended(d(kMost)))};
    case AttentionPart::kRagged: break;
  }
  return {octave(d(kDecodes)), octave(d(kMost)), octave(d(kLong)), octave(d(kLongContext))};
}

}  // namespace dooly::profiling
