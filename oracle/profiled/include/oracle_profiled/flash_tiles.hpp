#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"
#include "oracle_profiled/flash_schedule.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace dooly::oracle {

/// How FlashAttention 3 cuts one launch into tiles and deals them out to the multiprocessors, as vLLM calls it: varlen,
/// paged KV cache, query heads of one KV head packed into one tile, contexts split where tiles are few. What a launch
/// takes follows from it in steps: tiles fill whole waves of multiprocessors, one more is a wave more, and the longest
/// tile cannot be shared. From hopper/{heuristics.h, tile_size.h, flash_prepare_scheduler.cu, tile_scheduler.hpp} of
/// vllm-project/flash-attention and vllm/v1/attention/backends/flash_attn.py of 0.26.
class FlashTiles {
 public:
  /// Nothing for operators that run otherwise, or on a device whose multiprocessors nobody knows.
  static std::optional<FlashTiles> of(const OperatorKey& key, const Gpu& gpu);

  /// Decodes of up to two lengths, then equal chunks. Tokens attended count the token itself.
  struct Launch {
    double decodes = 0, attended = 0;
    double long_decodes = 0, long_attended = 0;  ///< more of them
    double chunks = 0, query = 0, context = 0;
  };

  /// Terms that the time is a sum of, each with a fitted weight. Blocks are those of keys and values that one tile goes
  /// through; where a term counts blocks or tiles it is per multiprocessor.
  enum Term : std::size_t {
    kLaunch,  ///< 1
    kWaves,  ///< tiles ÷ multiprocessors, rounded up
    kTiles,  ///< the same, not rounded
    kBlocks,  ///< blocks of all tiles
    kSchedule,  ///< blocks until the last tile ends, dealt out in order
    kDecodeRead,  ///< keys and values that decodes read, in blocks
    kChunkRead,  ///< the same of chunks
    kSplitKernel,  ///< 1 where contexts may be split: a kernel that combines runs after the first
    kSplits,  ///< 1 where they are
    kCombine,  ///< rows × splits that are combined
    kQueryRows,  ///< rows of chunks, of 16
    kWindow,  ///< 1 in the kernel of windows
    kWindowBlocks,  ///< kSchedule there
    kLongest,  ///< blocks of a long decode's tile
    kDeepest,  ///< the most splits that are combined for one row
    kTerms
  };
  using Terms = std::array<double, kTerms>;
  Terms terms(const Launch& launch) const;
  /// Σ of terms × weights, all but kDecodeRead.
  double sum_but_read(const Launch& launch, const Terms& weights) const;
  /// Of decodes of two lengths: blocks of a context of either, and whether the kernel of windows runs. All terms but
  /// kDecodeRead are the same for the same steps and numbers of decodes.
  struct Steps {
    double few = 0, many = 0;
    bool is_windowed = false;
    bool operator==(const Steps&) const = default;
  };
  Steps steps_of(const Launch& decodes) const;
  /// Whether decodes alone run in the kernel of windows: beyond it, and in captured graphs always, as these serve all
  /// lengths.
  bool is_windowed(const Launch& decodes) const {
    return window_ > 0 && (decodes.decodes + decodes.long_decodes <= kGraphTokens ||
                           std::max(decodes.attended, decodes.long_attended) > window_);
  }
  /// kDecodeRead, but of a launch of decodes alone that a window shortens: that has none.
  [[gnu::always_inline]] double decode_read(const Launch& l) const {
    const auto seen = [&](double tokens) { return window_ > 0 ? std::min(tokens, window_) : tokens; };
    return (l.decodes * seen(l.attended) + l.long_decodes * seen(l.long_attended)) * kv_heads_ *
           (per_multiprocessor_ / kBlockTokens);
  }

  /// Decodes that fill so many waves of multiprocessors, if none is split: one more is a wave more.
  double decodes_in(double waves) const { return waves * multiprocessors_ / kv_heads_; }

  /// Tokens; 0: none.
  double window() const { return window_; }

  /// vLLM captures graphs of so many decodes, with the splits fixed.
  static constexpr double kGraphTokens = 512;
  /// Keys and values that one block holds.
  static constexpr double kBlockTokens = 128;

 private:
  struct Cut {  // whole numbers
    double blocks = 0, splits = 1;
  };
  struct Cuts;
  struct Plan;
  /// In how many parts contexts may be split where the kernel is left to choose; counted once, a step has no time for
  /// it.
  class MostSplits {
   public:
    MostSplits() = default;
    MostSplits(std::uint32_t multiprocessors, std::uint64_t kv_heads);
    /// One sequence of so many tiles, the longest of so many blocks.
    double of(double tiles, double blocks) const {
      const double row = tiles / kv_heads_ - 1, column = std::min(blocks, kMost) - 1;
      const auto at = static_cast<std::size_t>(row * kMost + std::max(0.0, column));
      return at < splits_->size() ? (*splits_)[at] : 1;
    }

   private:
    static constexpr double kMost = 128, kNeverSplit = 4;  ///< splits; blocks
    double kv_heads_ = 1;
    std::shared_ptr<const std::vector<std::uint8_t>> splits_;  ///< by tiles, then blocks
  };
  template <bool kHasChunks, bool kHasWindow>
  Cuts cuts(const Launch& launch) const;
  template <bool kHasChunks, bool kHasWindow>
  Plan plan(const Launch& launch, const Cuts& cuts) const;
  template <bool kHasChunks, bool kHasWindow>
  Terms terms_of(const Launch& launch, const Cuts& cuts) const;
  template <bool kHasChunks, bool kHasWindow>
  Terms terms_of(const Launch& launch) const;
  template <bool kHasChunks, bool kHasWindow, bool kIsSplit>
  static double sum_of(const Terms& terms, const Terms& weights);
  template <bool kHasChunks, bool kHasWindow>
  double weighed(const Launch& launch, const Terms& weights) const;
  template <bool kHasChunks, bool kHasWindow>
  double weighed_split(const Launch& launch, const Cuts& cuts, const Terms& weights) const;
  void count_stairs(const Launch& launch, const Cuts& cuts, Plan& plan) const;
  double decodes_end(const Cuts& cuts, const Plan& plan) const;
  double chunks_end(const Cuts& cuts, const Plan& plan) const;
  double waves_end(const Launch& launch, const Cuts& cuts, const Plan& plan) const;
  double most_splits(double query, double longest, bool is_windowed) const;
  double heads_ = 0, kv_heads_ = 0, group_ = 0, multiprocessors_ = 0, window_ = 0;
  FlashSchedule few_rows_, many_rows_;  // by query rows of a tile
  MostSplits most_splits_;
  double per_multiprocessor_ = 0;  ///< for what is not counted in whole ones
};

}  // namespace dooly::oracle
