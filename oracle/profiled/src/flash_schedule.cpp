#include "oracle_profiled/flash_schedule.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace dooly::oracle {
namespace {

constexpr double kNone = 1e-6;     // of a tile: what rounding leaves
constexpr double kRounds = 3;      // of all multiprocessors, beyond which single tiles do not matter
constexpr double kLongest = 2;     // times that all takes what the longest does, likewise
constexpr double kMostLate = 0.9;  // of the multiprocessors

}  // namespace

/// Tiles of one length in flight: as they began one after the other, so they end.
class FlashSchedule::InFlight {
 public:
  void add(double end, double count) {
    if (!(count > kNone)) return;
    if (size_ == kEnds) {  // so many different ends that one more makes no difference
      counts_[(first_ + size_ - 1) % kEnds] += count;
      return;
    }
    const std::size_t at = (first_ + size_++) % kEnds;
    ends_[at] = end;
    counts_[at] = count;
  }
  bool empty() const { return size_ == 0; }
  double next_end() const { return empty() ? std::numeric_limits<double>::infinity() : ends_[first_]; }
  double take() {
    const double count = counts_[first_];
    first_ = (first_ + 1) % kEnds;
    --size_;
    return count;
  }

 private:
  static constexpr std::size_t kEnds = 32;
  std::array<double, kEnds> ends_, counts_;
  std::size_t first_ = 0, size_ = 0;
};

/// How long what is in flight takes once nothing waits, `idle` multiprocessors from the first: the fewer tiles are
/// left, the more memory each has.
double FlashSchedule::drained(InFlight& few, InFlight& many, double from, double idle) const {
  double end = 0, left = multiprocessors_ - idle;
  const auto go_on = [&](InFlight & next) __attribute__((always_inline)) {
    const double at = next.next_end();
    end += (at - from) * std::max(pace_.alone, left * each_);
    from = at;
    left -= next.take();
  };
  while (!few.empty()) go_on(few.next_end() <= many.next_end() ? few : many);
  while (!many.empty()) go_on(many);
  return end;
}

double FlashSchedule::end(const Decodes& decodes) const {
  const double few = decodes.few + pace_.start, many = decodes.many + pace_.start;
  const double blocks = decodes.few_tiles * few + decodes.many_tiles * many;
  const double tiles = decodes.few_tiles + decodes.many_tiles;
  const bool is_flow = tiles > kRounds * multiprocessors_ && kLongest * std::max(few, many) < blocks * each_;
  return is_flow ? in_flow(decodes) : dealt_one_by_one(decodes);
}

/// Many rounds, in which multiprocessors get out of step the more the more unequal the tiles are. The last tile starts
/// when all others have a place, and are half through on average.
double FlashSchedule::in_flow(const Decodes& decodes) const {
  constexpr double kApart = 0.25;  // squared coefficient of variation from which there are no rounds any more
  constexpr double kAboutAsLong = 0.9;
  const double few = decodes.few + pace_.start, many = decodes.many + pace_.start;
  const double tiles = decodes.few_tiles + decodes.many_tiles;
  const double few_blocks = decodes.few_tiles * few, blocks = few_blocks + decodes.many_tiles * many;
  const double squares = few_blocks * few + (blocks - few_blocks) * many;
  const double longest = std::max(few, many), level = blocks * each_;
  const double mean_of_blocks = squares / blocks, waves = tiles * each_;  // each tile as often as it has blocks
  const double full = up(waves * (1 - 1e-12)) - 1, rest = waves - full;
  const double mean = blocks / tiles;
  const double in_rounds = full * mean + longest * std::max(pace_.alone, rest);
  const double apart = std::min(1.0, (mean_of_blocks - mean) * tiles / (blocks * kApart));
  const double as_long = (few >= kAboutAsLong * longest ? decodes.few_tiles : 0) +
                         (many >= kAboutAsLong * longest ? decodes.many_tiles : 0);
  const double start = level - mean_of_blocks / 2 - longest * decodes.last * each_ / 2;
  // Where as many end with it as there are multiprocessors, they end one after the other.
  const double crowded = (1 + pace_.alone * pace_.alone) / 2 * std::min(1.0, 2 * as_long * each_);
  const double mixed = std::max(level, std::max(0.0, start) + longest * std::max(pace_.alone, crowded));
  return in_rounds + (mixed - in_rounds) * apart;
}

/// Tile by tile, those that start together at once.
double FlashSchedule::dealt_one_by_one(const Decodes& decodes) const {
  const double few = decodes.few + pace_.start, many = decodes.many + pace_.start;
  const double tiles = decodes.few_tiles + decodes.many_tiles;
  InFlight short_ones, long_ones;
  if (is_at_once(tiles)) {
    short_ones.add(few, decodes.few_tiles);
    long_ones.add(many, decodes.many_tiles);
    return drained(short_ones, long_ones, 0, std::max(0.0, multiprocessors_ - tiles));
  }
  double last = std::min(decodes.many_tiles, decodes.last), others = tiles - last;
  const double of_many = (decodes.many_tiles - last) / others;
  double now = 0, free = multiprocessors_;
  for (;;) {
    // Rounds of those that got short ones, while all long ones run.
    while (short_ones.empty() && free < others && free * (1 - of_many) >= kHardlyOne &&
           now + few < std::min(now + many, long_ones.next_end())) {
      long_ones.add(now + many, free * of_many);
      others -= free;
      free *= 1 - of_many;
      now += few;
    }
    const double next = std::min(free, others), then = std::min(free - next, last);
    short_ones.add(now + few, next * (1 - of_many));
    long_ones.add(now + many, next * of_many + then);
    others -= next;
    last -= then;
    if (others + last < kHardlyOne) return now + drained(short_ones, long_ones, now, free - next - then);
    free = 0;
    do {
      InFlight& first = short_ones.next_end() <= long_ones.next_end() ? short_ones : long_ones;
      now = first.next_end();
      free += first.take();
    } while (free < kHardlyOne || std::min(short_ones.next_end(), long_ones.next_end()) <= now);
  }
}

/// Two lengths that are nearly one go over into one.
FlashSchedule::Free FlashSchedule::free_of(const Decodes& decodes) const {
  constexpr double kNearlyOne = 0.75;  // of the longer
  const double few = decodes.few + pace_.start, many = decodes.many + pace_.start;
  if (!(decodes.many_tiles > 0)) return free_of_equal(decodes.few_tiles, few);
  if (!(decodes.few_tiles > 0)) return free_of_equal(decodes.many_tiles, many);
  const Free two = free_of_two(decodes);
  const double alike = std::min(few, many) / std::max(few, many);
  if (alike <= kNearlyOne) return two;
  const double tiles = decodes.few_tiles + decodes.many_tiles;
  const Free one = free_of_equal(tiles, (decodes.few_tiles * few + decodes.many_tiles * many) / tiles);
  const auto between = [&](double a, double b) { return a + (b - a) * (alike - kNearlyOne) / (1 - kNearlyOne); };
  return {between(two.early, one.early), between(two.late, one.late), between(two.many, one.many),
          between(two.few, one.few)};
}

/// `each`: blocks of a tile and its start.
FlashSchedule::Free FlashSchedule::free_of_equal(double tiles, double each) const {
  const double full = down(tiles * each_ * (1 + kNone)), rest = std::max(0.0, tiles - full * multiprocessors_);
  return {full * each, (rest > 0 ? full + 1 : full) * each, multiprocessors_ - rest, rest};
}

FlashSchedule::Free FlashSchedule::free_of_two(const Decodes& decodes) const {
  const double few = decodes.few + pace_.start, many = decodes.many + pace_.start;
  const double few_blocks = decodes.few_tiles * few, many_blocks = decodes.many_tiles * many;
  const double blocks = few_blocks + many_blocks;
  if (decodes.few_tiles + decodes.many_tiles <= multiprocessors_) {
    const bool is_few_late = few > many;
    const double late = is_few_late ? decodes.few_tiles : decodes.many_tiles, others = multiprocessors_ - late;
    return {others > 0 ? (is_few_late ? many_blocks : few_blocks) / others : 0, std::max(few, many), others, late};
  }
  // The last starts when all others have a place, and are half through on average.
  const double last = std::min(decodes.last, kMostLate * multiprocessors_);
  const double half = (few_blocks * few + many_blocks * many) / blocks / 2;
  const double late = std::max(0.0, (blocks - last * many) * each_ - half) + many;
  const double early = (blocks - last * late) / (multiprocessors_ - last);
  return {early, std::max(early, late), multiprocessors_ - last, last};
}

/// Chunks that make no round: each multiprocessor gets one tile at most, but for those that are free again first.
double FlashSchedule::in_one_round(const FlashStairs& stairs, const Free& free, double done) {
  const double first = stairs.at(done), rest = stairs.all_tiles() - done;
  const double end = std::max(free.early + first, free.late);
  if (rest <= free.many) return end;
  const double next = stairs.at(done + free.many), soonest = free.early + stairs.at(done + free.many - 1);
  if (free.late <= soonest) return std::max(end, free.late + next);
  const double again = soonest + (free.early + first - soonest) * (rest - free.many) / free.many;
  const double then = std::max(soonest + next, std::min(free.late, again) + stairs.last);
  return std::max(end, std::min(free.late + next, then));
}

/// Chunks behind the first `done` tiles, dealt out in rounds. Those that got shorter tiles are free for the next round
/// sooner, and share in what those that were late have not begun.
double FlashSchedule::in_rounds(const FlashStairs& stairs, const Free& free, double done) {
  const double all = free.many + free.few, each = 1 / all, rest = stairs.all_tiles() - done;
  const double rounds = down(rest * each + kNone), last = rest - rounds * all;
  if (rounds == 0) return in_one_round(stairs, free, done);
  const double full = done + rounds * all, fall = stairs.at(full - all) - stairs.at(full - 1);
  const double apart = free.late - free.early, levelled = apart > 0 ? std::min(1.0, fall / apart) : 0;
  const double mean =
      free.early + levelled * apart * free.few * each + (stairs.up_to(full) - stairs.up_to(done)) * each;
  const double late = free.few > 0 ? (1 - levelled) * apart : 0;
  const double spread = rounds == 1 ? fall : fall / 2, soonest = mean - spread / 2;
  const double end = mean + spread / 2 + late;
  if (!(last > kNone)) return end;
  const double first_again = std::max(end, soonest + stairs.at(full));
  if (last <= free.many) return std::max(first_again, soonest + spread * each * last + stairs.last);
  return std::max(std::max(first_again, soonest + late + spread * each * last + stairs.last),
                  soonest + late + spread * each * free.many + stairs.at(full + free.many));
}

/// Chunks after decodes: rounds of the multiprocessors that are free early, until the others join.
double FlashSchedule::in_turn(const FlashStairs& stairs, Free free) const {
  const double wait = free.late - free.early, tiles = stairs.all_tiles();
  if (!(free.many > 0)) return in_rounds(stairs, {free.late, free.late, free.few, 0}, 0);
  if (!(wait > 0)) return in_rounds(stairs, {free.early, free.early, multiprocessors_, 0}, 0);
  if (wait < stairs.first) return in_rounds(stairs, free, 0);
  if (free.early + stairs.all() / free.many <= free.late)
    return in_rounds(stairs, {free.early, free.early, free.many, 0}, 0);
  const double about = std::min(tiles - 1, down(wait / stairs.first) * free.many);
  const double done = std::min(tiles, down(2 * wait / (stairs.first + stairs.at(about))) * free.many);
  free.early += stairs.up_to(done) / free.many;
  if (done >= tiles) return free.early;
  if (free.early > free.late) {
    std::swap(free.early, free.late);
    std::swap(free.many, free.few);
  }
  return in_rounds(stairs, free, done);
}

/// No tile starts later than all that is before it takes on all multiprocessors: the greatest sum of that and the tile,
/// which has as many blocks as tiles fall by in a round.
double FlashSchedule::at_most(const FlashStairs& stairs, double decode_blocks) const {
  const double fall = stairs.slope * multiprocessors_ / stairs.copies;
  const double steps = stairs.slope > 0 ? stairs.flat + (stairs.first - fall) / stairs.slope : stairs.tiles;
  const double at = std::max(0.0, std::min(steps * stairs.copies, stairs.all_tiles() - 1));
  return (decode_blocks + stairs.up_to(at)) * each_ + stairs.at(at);
}

double FlashSchedule::end(const Decodes& decodes, const FlashStairs& chunks) const {
  FlashStairs stairs = chunks;
  stairs.first += pace_.start;
  stairs.last += pace_.start;
  const Free free = free_of(decodes);
  const double first = free.many > 0 ? free.early : free.late;
  const double decode_blocks = free.early * free.many + free.late * free.few;
  return std::max(std::max(free.late, first + stairs.first),
                  std::min(in_turn(stairs, free), at_most(stairs, decode_blocks)));
}

}  // namespace dooly::oracle
