#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

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
    kWindow,  ///< 1 where a window hides something: another kernel
    kWindowBlocks,  ///< kSchedule there
    kLongest,  ///< blocks of a long decode's tile
    kTerms
  };
  using Terms = std::array<double, kTerms>;
  Terms terms(const Launch& launch) const;

  /// Decodes that fill so many waves of multiprocessors, if none is split: one more is a wave more.
  double decodes_in(double waves) const { return waves * multiprocessors_ / kv_heads_; }

  /// Tokens; 0: none.
  double window() const { return window_; }

  /// Keys and values that one block holds.
  static constexpr double kBlockTokens = 128;

 private:
  struct Cut {
    std::int64_t blocks = 0, splits = 1, longest = 0;
  };
  struct Staircase;
  struct Plan;
  Plan plan(const Launch& launch) const;
  Staircase staircase(const Launch& launch, double chunk_tiles, const Plan& plan) const;
  double chunks_end(const Plan& plan) const;
  double waves_end(const Launch& launch, const Plan& plan) const;
  double before_last_long(const Plan& plan) const;
  double whole_waves(double tiles) const {
    return static_cast<double>(static_cast<std::int64_t>(tiles / multiprocessors_));
  }
  std::int64_t most_splits(double tokens, double query, double longest, bool is_windowed) const;
  double heads_ = 0, kv_heads_ = 0, group_ = 0, multiprocessors_ = 0, window_ = 0;
};

}  // namespace dooly::oracle
