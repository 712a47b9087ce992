#include "oracle_profiled/tile_dealer.hpp"

#include "oracle_profiled/rounding.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

constexpr double kAboutAsLong = 0.9;  // tiles that end with the longest
constexpr double kMuchShorter = 0.3;  // tiles that never end last
/// Squared coefficient of variation of the tiles' blocks from which they no longer end in whole waves.
constexpr double kApart = 0.25;

constexpr double kHardlyOne = 0.5;  // of a tile: two lengths that stand for many have parts of tiles

/// Into how many rounds of so many places tiles go, at least one.
double fewest_in(double tiles, double places) { return std::max(1.0, up((tiles - kHardlyOne) / places)); }

}  // namespace

/// Of all rounds: tiles, their blocks, and the squares of those.
struct TileDealer::Sums {
  double tiles = 0, blocks = 0, squares = 0;
};

TileDealer::TileDealer(double multiprocessors, Residency residency)
    : multiprocessors_(multiprocessors),
      places_(multiprocessors * residency.slots),
      slots_(residency.slots),
      shares_memory_(residency.shares_memory) {
  const double cube = residency.alone * residency.alone * residency.alone;
  for (std::size_t k = 1; k < takes_.size(); ++k) takes_[k] = std::cbrt(cube + static_cast<double>(k * k * k));
  full_ = takes_[static_cast<std::size_t>(slots_)];
  per_full_ = 1 / full_;
  rate_ = full_ / places_;
  each_ = 1 / multiprocessors_;
}

/// Units that a tile takes for a block where so many share a multiprocessor; not fewer than one.
inline double TileDealer::takes(double tiles) const {
  const double asked = std::min(std::max(tiles, 1.0), static_cast<double>(slots_)), least = down(asked);
  const auto at = static_cast<std::size_t>(least);
  return takes_[at] + (takes_[at + 1] - takes_[at]) * (asked - least);
}

/// Tiles on the fullest multiprocessor of so many that lie where they happened to be dealt, `among` others: the more
/// others, the less evenly.
inline double TileDealer::crowd(double tiles, double among) const {
  constexpr double kDeviations = 3.2;  // of the fullest of some hundred
  if (shares_memory_) return tiles * each_;
  const double mean = tiles * each_, others = std::max(0.0, 1 - tiles / among);
  const double most = std::min(static_cast<double>(slots_), fewest_in(among, multiprocessors_));
  return std::min(most, mean + kDeviations * others * std::sqrt(mean));
}

/// Tiles about as long as each other: waves of all places, the last of which may leave room.
inline double TileDealer::in_waves(const Sums& all, double tiles, double longest) const {
  const double full = fewest_in(tiles, places_) - 1, last = tiles - full * places_;
  return full * full_ * std::min(longest, all.blocks / tiles) +
         longest * takes(shares_memory_ ? last * each_ : fewest_in(last, multiprocessors_));
}

/// Tiles about as long as that, or longer.
inline TileDealer::Sums TileDealer::as_long_as(const Round& r, double blocks) {
  const double enough = kAboutAsLong * blocks;
  Sums sums;
  const auto count = [&](double tiles, double each) {
    sums.tiles += tiles * r.rounds;
    sums.blocks += tiles * r.rounds * each;
    sums.squares += tiles * r.rounds * each * each;
  };
  if (r.few.blocks >= enough) count(r.few.count, r.few.blocks);
  if (r.many.blocks >= enough) count(r.many.count, r.many.blocks);
  if (r.stairs.copies > 0 && r.stairs.last >= enough) {
    const double n = r.stairs.rising(), step = n > 1 ? (r.stairs.last - r.stairs.first) / (n - 1) : 0;
    const double steps = step > 0 ? std::min(n, 1 + (r.stairs.last - enough) / step) : n;
    count(r.stairs.copies * steps, r.stairs.last - step * (steps - 1) / 2);
    count(r.stairs.copies * r.stairs.flat, r.stairs.last);
  }
  return sums;
}

/// When the last of so many long tiles of so many blocks starts, behind `before` of all blocks.
inline double TileDealer::start_of(const Sums& all, const Sums& as_long, double blocks, double before) const {
  const double in_flight = places_ * all.squares / all.blocks / 2;
  const double steady = std::max(0.0, (before - in_flight) * rate_);
  if (as_long.tiles > places_ - kHardlyOne) return steady;
  // Those before it keep their places, one after the other: the rest wait for each other in what is left of them, the
  // logarithmic mean of all places and those, nearly.
  const double left = std::max(1.0, places_ - as_long.tiles);
  const double places = (2 * std::sqrt(places_ * left) + (places_ + left) / 2) / 3;
  const double others = std::max(0.0, before - std::max(0.0, as_long.blocks - blocks));
  const double other_blocks = std::max(1e-9, all.blocks - as_long.blocks);
  const double others_in_flight = places * std::max(0.0, all.squares - as_long.squares) / other_blocks / 2;
  const double waiting = std::max(0.0, others - others_in_flight) * full_ / places;
  return std::min(waiting, std::max(steady, blocks * full_));
}

/// The end of the last tile of so many blocks, which starts behind `before` of all blocks.
inline double TileDealer::end_of(const Round& r, const Sums& all, double blocks, double before) const {
  const Sums as_long = as_long_as(r, blocks);
  if (all.tiles < places_ + kHardlyOne) {  // all start at once, and the others leave room when they end
    const double others = all.tiles - as_long.tiles;
    const double other = others > 0.5 ? std::min(blocks, (all.blocks - as_long.blocks) / others) : 0;
    return other * takes(all.tiles * each_) + (blocks - other) * takes(crowd(as_long.tiles, all.tiles));
  }
  const double last = std::min(places_, as_long.tiles);
  const double start = start_of(all, as_long, blocks, before);
  const double alone = std::max(start, (all.blocks - last * blocks) * rate_);  // the others are done
  return alone + std::max(0.0, blocks - (alone - start) * per_full_) * takes(crowd(last, places_));
}

/// Tiles as long as the longest that all make in waves: those much shorter pass between the others.
inline double TileDealer::as_waves(const Round& r, double longest) {
  const auto tiles = [&](double count, double each) {
    return each >= kMuchShorter * longest ? count : count * each / longest;
  };
  const double decodes = tiles(r.few.count, r.few.blocks) + tiles(r.many.count, r.many.blocks);
  const double all = r.stairs.tiles();
  return r.rounds * (all > 0 ? decodes + tiles(all, r.stairs.blocks() / all) : decodes);
}

double TileDealer::end(const Round& r) const {
  const double few = r.few.count * r.few.blocks, decodes = few + r.many.count * r.many.blocks;
  const double tiles = r.tiles(), blocks = decodes + r.stairs.blocks();
  if (!(tiles > 0) || !(blocks > 0)) return 0;
  const double squares = few * r.few.blocks + r.many.count * r.many.blocks * r.many.blocks + r.stairs.squares();
  const Sums all{tiles * r.rounds, blocks * r.rounds, squares * r.rounds};
  const double longest =
      std::max(std::max(r.few.count > 0 ? r.few.blocks : 0, r.many.count > 0 ? r.many.blocks : 0), r.stairs.last);
  const double apart = std::min(1.0, std::max(0.0, squares * tiles / (blocks * blocks) - 1) / kApart);
  const double waves = apart < 1 ? in_waves(all, as_waves(r, longest), longest) : 0;
  if (!(apart > 0)) return waves;
  const double earlier = all.blocks - blocks;
  double last = all.tiles < places_ + kHardlyOne ? 0 : all.blocks * rate_;
  const auto consider = [&](double count, double each, double before) {
    if (count > 0 && each >= kMuchShorter * longest)
      last = std::max(last, end_of(r, all, each, earlier + before - each));
  };
  consider(r.few.count, r.few.blocks, few);
  consider(r.many.count, r.many.blocks, decodes);
  consider(r.stairs.copies, r.stairs.last, r.longest_first ? decodes + r.stairs.last : blocks);
  return waves + (last - waves) * apart;
}

}  // namespace dooly::oracle
