#pragma once

#include <array>

namespace dooly::oracle {

/// When the last tile of a launch ends whose tiles are dealt out in their order, each to the first multiprocessor that
/// has room: some share one, and slow each other down. With k tiles on a multiprocessor each takes (alone³ + k³)^⅓ for
/// a block of keys, in units of what only grows with k. So a few long tiles, which end last and have multiprocessors to
/// themselves by then, take less for a block than the many before them.
class TileDealer {
 public:
  static constexpr int kMostSlots = 12;

  /// Tiles that a multiprocessor has room for, and how slow a lone one is.
  struct Residency {
    int slots = 1;
    double alone = 0;
    bool shares_memory = false;  ///< what slows tiles down is the memory of the device, not their multiprocessor
  };
  TileDealer() = default;
  TileDealer(double multiprocessors, Residency residency);

  /// So many tiles of so many blocks each.
  struct Tiles {
    double count = 0, blocks = 0;
  };
  /// Tiles of one chunk, from its first rows to its last: blocks rise evenly from `first` to `last`, which `flat` of
  /// them have besides, where a window is full. `copies` chunks.
  struct Stairs {
    double count = 0, first = 0, last = 0, copies = 0, flat = 0;
    double rising() const { return count - flat; }
    double tiles() const { return copies * count; }
    double blocks() const { return copies * (rising() * (first + last) / 2 + flat * last); }
    double squares() const {  ///< of n evenly spaced numbers: they vary by (last - first)² (n + 1) ÷ (n - 1) ÷ 12
      const double middle = (first + last) / 2, rise = last - first, n = rising();
      const double spread = n > 1 ? rise * rise * (n + 1) / (n - 1) / 12 : 0;
      return copies * (n * (middle * middle + spread) + flat * last * last);
    }
  };
  /// What is dealt `rounds` times in a row, for one head after the other: short decodes, long ones, chunks.
  struct Round {
    double rounds = 1;
    Tiles few = {}, many = {};
    Stairs stairs = {};
    bool longest_first = false;  ///< chunks from their last rows to their first

    double tiles() const { return few.count + many.count + stairs.tiles(); }
    double blocks() const { return few.count * few.blocks + many.count * many.blocks + stairs.blocks(); }
  };
  /// Units until all is done.
  double end(const Round& round) const;

 private:
  struct Sums;
  double takes(double tiles) const;
  double crowd(double tiles, double among) const;
  static double as_waves(const Round& round, double longest);
  static Sums as_long_as(const Round& round, double blocks);
  double in_waves(const Sums& all, double tiles, double longest) const;
  double start_of(const Sums& all, const Sums& as_long, double blocks, double before) const;
  double end_of(const Round& round, const Sums& all, double blocks, double before) const;

  double multiprocessors_ = 1, places_ = 1;
  double full_ = 1, per_full_ = 1;  ///< takes(slots), and 1 over it
  double rate_ = 1;  ///< units for a block of all that are dealt, while all places are full
  double each_ = 1;  ///< what of one falls to each multiprocessor
  int slots_ = 1;
  bool shares_memory_ = false;
  std::array<double, kMostSlots + 2> takes_{};  ///< by tiles that share a multiprocessor
};

}  // namespace dooly::oracle
