#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"
#include "oracle_profiled/flash_tiles.hpp"
#include "oracle_profiled/rounding.hpp"
#include "oracle_profiled/tile_dealer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dooly::oracle {

/// Blocks that so many tokens fill; of the last, which is begun, half is paid.
inline double whole_blocks(double tokens, double block) { return up(tokens / block); }
inline double begun_blocks(double tokens, double block) {
  const double blocks = tokens / block;
  return (up(blocks) + blocks) / 2;
}

/// How an attention kernel other than FlashAttention 3 cuts a launch into tiles that are dealt out in order
/// (TileDealer). An operator has one or more variants, of which the launch decides: each has weights of its own, and
/// its own residency, as registers and memory of the compiled kernel decide on that.
class DealtKernel {
 public:
  using Launch = FlashTiles::Launch;

  /// Nothing for operators of other families, or on a device whose multiprocessors nobody knows.
  static std::shared_ptr<const DealtKernel> of(const OperatorKey& key, const Gpu& gpu);
  virtual ~DealtKernel() = default;

  /// Terms that the time is a sum of, each with a fitted weight; of what there is more than one, per multiprocessor.
  enum Term : std::size_t {
    kLaunch,     ///< 1
    kEnd,        ///< blocks until the last tile ends
    kBlocks,     ///< blocks of all tiles
    kTiles,
    kRows,       ///< query rows
    kRead,       ///< keys and values that decodes read, in blocks
    kCombine,    ///< rows × splits that are combined
    kSplits,     ///< splits of the longest; 0 where none is split
    kSequences,  ///< tiles of decodes beside chunks, or what a sequence costs otherwise
    kAnother,    ///< 1 where one more kernel runs
    kTerms
  };
  using Terms = std::array<double, kTerms>;

  virtual std::size_t variants() const { return 1; }
  virtual std::size_t variant(const Launch&) const { return 0; }
  /// `variant`: that of the launch, or another whose weights are to answer.
  virtual Terms terms(const Launch& launch, std::size_t variant, const TileDealer& dealer) const = 0;
  /// Slots that are tried for a variant.
  virtual std::vector<int> slots(std::size_t variant) const = 0;
  /// Whether chunks alone run in the kernel of chunks beside decodes, and say what its weights are.
  virtual bool is_mixed_in_one() const { return true; }

  double window() const { return window_; }
  double multiprocessors() const { return multiprocessors_; }
  /// Decodes that fill so many waves of multiprocessors, a tile each.
  double decodes_in(double waves) const { return waves * multiprocessors_ / kv_heads_; }

 protected:
  DealtKernel(const OperatorKey& key, const Gpu& gpu);
  double seen(double tokens, double more = 0) const {
    return window_ > 0 && tokens > window_ + more ? window_ + more : tokens;
  }
  /// Blocks of so many keys that decodes read, a multiprocessor.
  double read(const Launch& l, double keys) const {
    return (l.decodes * seen(l.attended) + l.long_decodes * seen(l.long_attended)) * kv_heads_ / keys * each_;
  }
  /// Tiles of `rows` query tokens in blocks of so many keys.
  TileDealer::Stairs stairs_of(const Launch& launch, double rows, double keys) const;
  double heads_, kv_heads_, group_, head_dim_, multiprocessors_, window_;
  double each_;  ///< what of one falls to each multiprocessor
};

std::shared_ptr<const DealtKernel> make_fa2_tiles(const OperatorKey& key, const Gpu& gpu);
std::shared_ptr<const DealtKernel> make_triton_tiles(const OperatorKey& key, const Gpu& gpu);
std::shared_ptr<const DealtKernel> make_flashinfer_tiles(const OperatorKey& key, const Gpu& gpu);

}  // namespace dooly::oracle
