#pragma once

#include "oracle_profiled/rounding.hpp"

#include <algorithm>

namespace dooly::oracle {

/// Blocks of the tiles of one chunk, that of its last rows first: `flat` have `first` of them, where a window is full;
/// then they fall evenly to `last`. `copies` of each.
struct FlashStairs {
  double tiles = 0, flat = 0, first = 0, last = 0, copies = 0;
  double slope = 0;  ///< from one tile to the next, where they fall

  double all_tiles() const { return copies * tiles; }
  double all() const { return copies * sum(tiles); }
  /// Blocks of the first so many of all copies.
  double up_to(double tile) const { return copies * sum(std::min(tile / copies, tiles)); }
  double at(double tile) const { return first - slope * std::max(0.0, down(tile / copies) - flat); }

 private:
  double sum(double steps) const {
    const double falling = std::max(0.0, steps - flat);
    return steps * first - slope * falling * (falling - 1) / 2;
  }
};

/// When the last tile of a launch of FlashAttention 3 ends. Its scheduler hands tiles out in their order, each to the
/// first multiprocessor that is free. Times are counted in blocks of keys that a tile goes through.
class FlashSchedule {
 public:
  /// What a tile takes beside its blocks, and a block where a tile has the memory to itself, in blocks while all read.
  struct Pace {
    double start = 0, alone = 1;
  };
  /// Tiles of decodes of two lengths, mixed evenly; those of the last sequence, `last`, are `many`.
  struct Decodes {
    double few_tiles = 0, few = 0;
    double many_tiles = 0, many = 0, last = 0;
  };
  FlashSchedule() = default;
  FlashSchedule(double multiprocessors, Pace pace)
      : multiprocessors_(multiprocessors),
        each_(1 / multiprocessors),
        pace_(pace) {}

  /// Whether so many tiles have a multiprocessor each. Of two lengths that stand for many there may be parts of a tile.
  bool is_at_once(double tiles) const { return tiles < multiprocessors_ + kHardlyOne; }
  /// Of decodes alone, some of either length.
  double end(const Decodes& decodes) const;
  /// Of decodes, if any, and then chunks.
  double end(const Decodes& decodes, const FlashStairs& chunks) const;

 private:
  static constexpr double kHardlyOne = 0.5;  ///< of a tile: no multiprocessor waits for so little
  /// When multiprocessors have done the decodes: most early, some late.
  struct Free {
    double early = 0, late = 0;
    double many = 0, few = 0;  ///< multiprocessors
  };
  Free free_of(const Decodes& decodes) const;
  Free free_of_equal(double tiles, double each) const;
  Free free_of_two(const Decodes& decodes) const;
  static double in_one_round(const FlashStairs& stairs, const Free& free, double done);
  static double in_rounds(const FlashStairs& stairs, const Free& free, double done);
  double in_turn(const FlashStairs& stairs, Free free) const;
  double at_most(const FlashStairs& stairs, double decode_blocks) const;
  class InFlight;
  double drained(InFlight& few, InFlight& many, double from, double idle) const;
  double dealt_one_by_one(const Decodes& decodes) const;
  double in_flow(const Decodes& decodes) const;

  double multiprocessors_ = 1, each_ = 1;
  Pace pace_;
};

}  // namespace dooly::oracle
