#include "oracle_profiled/dealt_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dooly::oracle {
namespace {

constexpr double kSegments = 16;
constexpr double kWholeKeys = 32, kSplitKeys = 16;  ///< that one step of a tile takes
constexpr std::uint64_t kLeastRows = 16;

/// Sequences up to which vLLM splits: those that make 128 tiles, or of its captured sizes (1, 2, 4, every 8th) the
/// nearest.
double split_limit(double kv_heads) {
  constexpr double kFill = 128, kStep = 8;
  const double wanted = std::floor(kFill / kv_heads);
  double nearest = 1;
  const auto consider = [&](double size) {
    if (std::abs(size - wanted) < std::abs(nearest - wanted)) nearest = size;
  };
  consider(2);
  consider(4);
  for (double size = kStep; size <= kFill; size += kStep) consider(size);
  return nearest;
}

/// vLLM's unified Triton kernel (vllm/v1/attention/ops/triton_unified_attention.py of 0.26): a tile for each KV head
/// and 16 rows, which are query heads of a few tokens; few decodes alone are cut into 16 segments that another kernel
/// joins.
class TritonTiles final : public DealtKernel {
 public:
  TritonTiles(const OperatorKey& key, const Gpu& gpu) : DealtKernel(key, gpu), split_limit_(split_limit(kv_heads_)) {
    const auto group = static_cast<std::uint64_t>(group_);
    rows_ = std::max(1.0, std::floor(static_cast<double>(std::max(kLeastRows, std::bit_ceil(group))) / group_));
  }

  enum Variant : std::size_t { kWhole, kSplit, kVariants };
  std::size_t variants() const override { return kVariants; }
  std::size_t variant(const Launch& l) const override {
    return l.chunks > 0 || l.decodes + l.long_decodes > split_limit_ + 0.5 ? kWhole : kSplit;
  }
  std::vector<int> slots(std::size_t variant) const override {
    return variant == kWhole ? std::vector<int>{3, 4, 5, 6, 8} : std::vector<int>{4, 6, 8, 10, 12};
  }

  Terms terms(const Launch& l, std::size_t variant, const TileDealer& dealer) const override {
    return variant == kWhole ? whole(l, dealer) : split(l, dealer);
  }

 private:
  Terms whole(const Launch& l, const TileDealer& dealer) const {
    const bool has_chunks = l.chunks > 0;
    const double sequences = l.decodes + l.long_decodes + l.chunks;
    TileDealer::Round round{.rounds = kv_heads_,
                            .few = {l.decodes, begun_blocks(seen(l.attended), kWholeKeys)},
                            .many = {l.long_decodes, begun_blocks(seen(l.long_attended), kWholeKeys)}};
    if (has_chunks) round.stairs = stairs_of(l, rows_, kWholeKeys);
    Terms out{};
    out[kLaunch] = 1;
    out[kEnd] = dealer.end(round);
    out[kBlocks] = round.blocks() * kv_heads_ * each_;
    out[kTiles] = round.tiles() * kv_heads_ * each_;
    out[kRows] = l.chunks * l.query * heads_ * each_ / 16;
    out[kRead] = read(l, kWholeKeys);
    out[kSequences] = sequences * kv_heads_ * each_;  // each has a tile of the grid that it may not need
    return out;
  }

  Terms split(const Launch& l, const TileDealer& dealer) const {
    const double sequences = l.decodes + l.long_decodes;
    double segments = 0;
    const auto tiles = [&](double count, double tokens) {
      if (!(count > 0)) return TileDealer::Tiles{};
      const double share = whole_blocks(tokens, kSegments * kSplitKeys);  // a window hides whole segments
      const double used = up(seen(tokens) / (share * kSplitKeys));
      segments += count * used;
      return TileDealer::Tiles{count * used * kv_heads_, share};
    };
    const TileDealer::Round round{.few = tiles(l.decodes, l.attended), .many = tiles(l.long_decodes, l.long_attended)};
    Terms out{};
    out[kLaunch] = 1;
    out[kEnd] = dealer.end(round);
    out[kTiles] = sequences * kv_heads_ * kSegments * each_;
    out[kRows] = sequences * heads_ * each_;
    out[kRead] = read(l, kSplitKeys);
    out[kCombine] = segments * heads_ * each_ / kSegments;
    return out;
  }

  double split_limit_, rows_ = 1;
};

}  // namespace

std::shared_ptr<const DealtKernel> make_triton_tiles(const OperatorKey& key, const Gpu& gpu) {
  return std::make_shared<const TritonTiles>(key, gpu);
}

}  // namespace dooly::oracle
