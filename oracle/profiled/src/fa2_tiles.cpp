#include "oracle_profiled/dealt_kernel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>

namespace dooly::oracle {
namespace {

constexpr double kTileRows = 64;
constexpr double kMostSplits = 128;
constexpr double kFull = 0.8, kGoodEnough = 0.85;

/// FlashAttention 2 as vLLM calls it: varlen, paged KV cache. From csrc/flash_attn/{flash_api.cpp,
/// src/flash_fwd_launch_template.h} of vllm-project/flash-attention. Decodes alone put the query heads of a KV head in
/// one tile, and split all contexts alike where tiles are few; without splits a kernel with half of the keys in a block
/// runs. With chunks among them, or a window, each query head has tiles of its own, 64 rows each, none is split, and
/// the grid has as many tiles for each sequence as the longest query needs.
class Fa2Tiles final : public DealtKernel {
 public:
  Fa2Tiles(const OperatorKey& key, const Gpu& gpu)
      : DealtKernel(key, gpu),
        block_(head_dim_ <= 64    ? 256
               : head_dim_ <= 128 ? 128
                                  : 64),
        small_block_(head_dim_ <= 64 ? 128 : 64) {}

  enum Variant : std::size_t { kHeads, kWhole, kSplit, kVariants };
  std::size_t variants() const override { return kVariants; }
  std::size_t variant(const Launch& l) const override {
    if (l.chunks > 0 || window_ > 0 || group_ <= 1) return kHeads;
    return splits(l) > 1 ? kSplit : kWhole;
  }
  std::vector<int> slots(std::size_t) const override { return {1, 2, 3}; }

  Terms terms(const Launch& l, std::size_t variant, const TileDealer& dealer) const override {
    return variant == kHeads ? by_heads(l, dealer) : of_decodes(l, variant == kSplit ? splits(l) : 1, dealer);
  }

 private:
  static double longest(const Launch& l) {
    return std::max(l.decodes > 0 ? l.attended : 0, l.long_decodes > 0 ? l.long_attended : 0);
  }

  double splits(const Launch& l) const {
    const double sequences = std::round(l.decodes + l.long_decodes);
    if (sequences * kv_heads_ >= kFull * 2 * multiprocessors_) return 1;
    return remembered_splits(static_cast<std::uint32_t>(sequences),
                             static_cast<std::uint32_t>(whole_blocks(longest(l), block_)));
  }

  /// The rule goes through all numbers, which takes a microsecond; the same are asked for over and over.
  double remembered_splits(std::uint32_t sequences, std::uint32_t blocks) const {
    constexpr std::uint32_t kMostBlocks = 1u << 14, kMostSequences = 1u << 10;
    if (blocks >= kMostBlocks || sequences >= kMostSequences) return splits_of(sequences, blocks);
    std::atomic<std::uint32_t>& memo = memo_[(sequences * 37 + blocks) % memo_.size()];
    const std::uint32_t asked = (sequences << 14 | blocks) << 8, known = memo.load(std::memory_order_relaxed);
    if (known >> 8 == asked >> 8) return known & 0xff;
    const double splits = splits_of(sequences, blocks);
    memo.store(asked | static_cast<std::uint32_t>(splits), std::memory_order_relaxed);
    return splits;
  }

  /// The number that fills the last of the waves (two tiles a multiprocessor) nearly best.
  double splits_of(double sequences, double blocks) const {
    const double tiles = sequences * kv_heads_, places = 2 * multiprocessors_;
    const double most = std::min({kMostSplits, places, blocks});
    // Numbers that leave the share of the last as long are passed over.
    const auto is_eligible = [&](double n) { return n == 1 || up(blocks / n) != up(blocks / (n - 1)); };
    const auto filled = [&](double n) { return tiles * n / places / up(tiles * n / places); };
    double best = 0;
    for (double n = 1; n <= most; ++n)
      if (is_eligible(n)) best = std::max(best, filled(n));
    for (double n = 1; n <= most; ++n)
      if (is_eligible(n) && filled(n) >= kGoodEnough * best) return n;
    return 1;
  }

  Terms of_decodes(const Launch& l, double splits, const TileDealer& dealer) const {
    const double block = splits > 1 ? block_ : small_block_, sequences = l.decodes + l.long_decodes;
    const auto tiles = [&](double count, double tokens) {
      if (!(count > 0)) return TileDealer::Tiles{};
      const double blocks = whole_blocks(tokens, block), share = up(blocks / splits);
      return TileDealer::Tiles{count * up(blocks / share), share};
    };
    const TileDealer::Round round{
        .rounds = kv_heads_, .few = tiles(l.decodes, l.attended), .many = tiles(l.long_decodes, l.long_attended)};
    Terms out{};
    out[kLaunch] = 1;
    out[kEnd] = dealer.end(round);
    out[kBlocks] = round.blocks() * kv_heads_ * each_;
    out[kTiles] = sequences * kv_heads_ * splits * each_;
    out[kRows] = sequences * heads_ * each_;
    out[kRead] = read(l, block);
    out[kAnother] = std::min(1.0, std::max(0.0, sequences - 1));  // one sequence needs no copies of its heads
    if (splits > 1) {
      out[kCombine] = sequences * heads_ * splits * each_;
      out[kSplits] = splits;
    }
    return out;
  }

  Terms by_heads(const Launch& l, const TileDealer& dealer) const {
    const bool has_chunks = l.chunks > 0;
    const double rows = has_chunks ? std::max(1.0, up(l.query / kTileRows)) : 1, kv = l.query + l.context;
    const double sequences = l.decodes + l.long_decodes;
    const bool is_local = window_ > 0 && std::max(longest(l), has_chunks ? kv : 0) > window_;
    TileDealer::Round round{.rounds = heads_,
                            .few = {l.decodes, whole_blocks(seen(l.attended), block_)},
                            .many = {l.long_decodes, whole_blocks(seen(l.long_attended), block_)}};
    if (has_chunks) round.stairs = stairs_of(l, kTileRows, block_);
    Terms out{};
    out[kLaunch] = 1;
    out[kEnd] = dealer.end(round);
    out[kBlocks] = round.blocks() * heads_ * each_;
    out[kTiles] = round.tiles() * heads_ * each_;
    out[kRows] = l.chunks * l.query * heads_ * each_ / 16;
    out[kRead] = read(l, block_);
    out[kSequences] = sequences * (rows - 1) * heads_ * each_;  // tiles that find nothing to do
    out[kAnother] = is_local ? 1 : 0;
    return out;
  }

  double block_, small_block_;  ///< keys
  mutable std::array<std::atomic<std::uint32_t>, 1024> memo_{};
};

}  // namespace

std::shared_ptr<const DealtKernel> make_fa2_tiles(const OperatorKey& key, const Gpu& gpu) {
  return std::make_shared<const Fa2Tiles>(key, gpu);
}

}  // namespace dooly::oracle
