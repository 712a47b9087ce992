#include "oracle_profiled/dealt_kernel.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

constexpr double kPage = 16;          ///< tokens
constexpr double kLeastChunk = 128;   ///< tokens that are split off
constexpr double kPlaces = 2;         ///< tiles a multiprocessor that the plan counts on

/// FlashInfer 0.6 as vLLM calls it on a Hopper GPU (include/flashinfer/attention/scheduler.cuh): decodes by its tensor
/// core kernels, whose plan cuts contexts into chunks as long as must be for all to run at once; prompts by its Hopper
/// kernels, a tile for each query head and 128 rows that no one splits, dealt to the multiprocessors beforehand, those
/// of a chunk's last rows first. A step with both launches one after the other.
class FlashInferTiles final : public DealtKernel {
 public:
  FlashInferTiles(const OperatorKey& key, const Gpu& gpu)
      : DealtKernel(key, gpu),
        decode_keys_(std::max(32.0, 128 * 128 / head_dim_)),
        rows_(head_dim_ <= 64 ? 192 : 128),
        keys_(head_dim_ <= 128 ? 96 : 32),
        prompts_(multiprocessors_, {1, 1}) {}

  enum Variant : std::size_t { kDecode, kPrefill, kBoth, kVariants };
  std::size_t variants() const override { return kVariants; }
  std::size_t variant(const Launch& l) const override {
    if (!(l.chunks > 0)) return kDecode;
    return l.decodes + l.long_decodes > 0 ? kBoth : kPrefill;
  }
  std::vector<int> slots(std::size_t variant) const override {
    return variant == kPrefill ? std::vector<int>{1} : std::vector<int>{2, 3};
  }
  bool is_mixed_in_one() const override { return false; }

  Terms terms(const Launch& l, std::size_t variant, const TileDealer& dealer) const override {
    if (variant == kPrefill) return prefill(l, dealer);
    Terms out = decode(l, dealer);
    if (variant == kDecode) return out;
    // Of the launch of chunks, which runs beside the end of the other.
    const Terms chunks = prefill(l, prompts_);
    out[kBlocks] = chunks[kEnd];
    out[kSplits] = chunks[kSequences];
    out[kSequences] = chunks[kRows];
    return out;
  }

 private:
  /// Tokens of a chunk: the least with which no more chunks than places are made, by bisection; the longest context
  /// where sequences alone are more.
  double chunk(const Launch& l) const {
    const double most = std::floor(kPlaces * multiprocessors_ / kv_heads_);
    constexpr double kRounding = 0.5;  // of numbers of decodes that stand for others
    const double few = whole_blocks(l.attended, kPage), many = whole_blocks(l.long_attended, kPage);
    double low = std::floor(kLeastChunk / kPage);
    double high = std::max({1.0, l.decodes > 0 ? few : 0, l.long_decodes > 0 ? many : 0});
    if (l.decodes + l.long_decodes > most + kRounding) return std::max(low, high) * kPage;
    while (low < high) {
      const double middle = std::floor((low + high) / 2);
      const double chunks = l.decodes * up(few / middle) + l.long_decodes * up(many / middle);
      if (chunks > most + kRounding)
        low = middle + 1;
      else
        high = middle;
    }
    return low * kPage;
  }

  Terms decode(const Launch& l, const TileDealer& dealer) const {
    const double sequences = l.decodes + l.long_decodes, size = chunk(l);
    double chunks = 0;
    const auto tiles = [&](double count, double tokens) {
      if (!(count > 0)) return TileDealer::Tiles{};
      const double made = std::max(1.0, up(tokens / size));
      chunks += count * made;
      return TileDealer::Tiles{count * made, begun_blocks(tokens / made, decode_keys_)};
    };
    const TileDealer::Round round{
        .rounds = kv_heads_, .few = tiles(l.decodes, l.attended), .many = tiles(l.long_decodes, l.long_attended)};
    // In a captured graph the kernel that merges always runs.
    const bool is_captured = !(l.chunks > 0) && sequences <= FlashTiles::kGraphTokens;
    const bool is_merged = is_captured || chunks > sequences + 0.5;
    Terms out{};
    out[kLaunch] = 1;
    out[kEnd] = dealer.end(round);
    out[kTiles] = round.tiles() * kv_heads_ * each_;
    out[kRows] = sequences * heads_ * each_;
    out[kRead] = read(l, decode_keys_);
    out[kAnother] = is_merged ? 1 : 0;
    if (is_merged) out[kCombine] = chunks * heads_ * each_;
    return out;
  }

  Terms prefill(const Launch& l, const TileDealer& dealer) const {
    const TileDealer::Round round{.rounds = heads_, .stairs = stairs_of(l, rows_, keys_), .longest_first = true};
    Terms out{};
    out[kLaunch] = 1;
    out[kEnd] = dealer.end(round);
    out[kBlocks] = round.blocks() * heads_ * each_;
    out[kTiles] = round.tiles() * heads_ * each_;
    out[kRows] = l.chunks * l.query * heads_ * each_ / 16;
    out[kSequences] = up(round.tiles() * heads_ / multiprocessors_);
    return out;
  }

  double decode_keys_, rows_, keys_;
  TileDealer prompts_;
};

}  // namespace

std::shared_ptr<const DealtKernel> make_flashinfer_tiles(const OperatorKey& key, const Gpu& gpu) {
  return std::make_shared<const FlashInferTiles>(key, gpu);
}

}  // namespace dooly::oracle
