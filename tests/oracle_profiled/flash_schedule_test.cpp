#include "oracle_profiled/flash_schedule.hpp"

#include <gtest/gtest.h>

namespace dooly::oracle {
namespace {

/// Ten multiprocessors; a tile starts in the time of a block, which takes half when it has the memory to itself.
const FlashSchedule kTen(10, {1, 0.5});
const FlashSchedule kTenComputing(10, {1, 1});

TEST(FlashSchedule, TilesThatAllHaveAMultiprocessorEndWithTheLongest) {
  // Eight share the memory for 4 blocks' time, four more have half of it to themselves.
  EXPECT_DOUBLE_EQ(kTen.end({.few_tiles = 4, .few = 3, .many_tiles = 4, .many = 7, .last = 1}), 4 * 0.8 + 4 * 0.5);
  EXPECT_DOUBLE_EQ(kTen.end({.few_tiles = 10, .few = 3}), 4);
}

TEST(FlashSchedule, TheLastSequenceStartsWhenOthersEnd) {
  // Of 14 tiles twelve, a third of them long, are mixed: 6.7 end after 2 blocks, where two more follow and the last
// two.
  const double end = kTen.end({.few_tiles = 8, .few = 1, .many_tiles = 6, .many = 5, .last = 2});
  const double until_4 = 22.0 / 3 / 10, until_6 = 6.0 / 10;  // of the memory that is used
  EXPECT_NEAR(end, 2 + 2 * until_4 + 2 * until_6 + 2 * 0.5, 1e-9);
}

TEST(FlashSchedule, EqualTilesEndInRounds) {
  EXPECT_DOUBLE_EQ(kTen.end({.few_tiles = 40, .few = 3, .many_tiles = 10, .many = 3, .last = 1}), 5 * 4);
  EXPECT_DOUBLE_EQ(kTen.end({.few_tiles = 40, .few = 3, .many_tiles = 12, .many = 3, .last = 1}), 5 * 4 + 4 * 0.5);
}

TEST(FlashSchedule, ManyUnequalTilesTakeTheirShareAndTheLast) {
  // 1,000 blocks and 100 starts: 110 blocks a multiprocessor, and nobody waits for more than a long tile.
  const double end = kTenComputing.end({.few_tiles = 90, .few = 5, .many_tiles = 10, .many = 55, .last = 1});
  EXPECT_GT(end, 110);
  EXPECT_LT(end, 110 + 56);
}

FlashStairs chunk(double tiles, double first, double last) {
  return {
      .tiles = tiles, .first = first, .last = last, .copies = 1, .slope = tiles > 1 ? (first - last) / (tiles - 1) : 0};
}

TEST(FlashSchedule, ChunksAreDealtInRounds) {
  EXPECT_DOUBLE_EQ(kTenComputing.end({}, chunk(10, 3, 3)), 4);
  EXPECT_DOUBLE_EQ(kTenComputing.end({}, chunk(11, 3, 3)), 8);
  EXPECT_DOUBLE_EQ(kTenComputing.end({}, chunk(30, 3, 3)), 12);
}

TEST(FlashSchedule, ShortTilesOfAChunkLetTheNextBegin) {
  // 10, 9, … 1 block and one more: the eleventh starts when the tenth ends, long before the first does.
  EXPECT_DOUBLE_EQ(kTenComputing.end({}, chunk(11, 10, 0)), 11);
  EXPECT_LT(kTenComputing.end({}, chunk(40, 40, 1)), (40 * 21.5) / 10 + 5);
}

TEST(FlashSchedule, ShortDecodesHardlyDelayAChunk) {
  // Five multiprocessors begin with it at once, five when their decodes end.
  EXPECT_DOUBLE_EQ(kTenComputing.end({.few_tiles = 5, .few = 0}, chunk(10, 3, 3)), 1 + 4);
  EXPECT_DOUBLE_EQ(kTenComputing.end({.few_tiles = 5, .few = 0}, chunk(5, 3, 3)), 4);
}

TEST(FlashSchedule, LongDecodesLeaveAChunkToTheOthers) {
  // 20 tiles on eight multiprocessors are three rounds of 4, done before the decodes; 60 are not.
  EXPECT_DOUBLE_EQ(kTenComputing.end({.few_tiles = 2, .few = 19}, chunk(20, 3, 3)), 20);
  EXPECT_DOUBLE_EQ(kTenComputing.end({.few_tiles = 2, .few = 19}, chunk(60, 3, 3)), 5 * 4 + 2 * 4);
}

/// Lengths that are nearly one end as one does, on idle multiprocessors and in several rounds.
TEST(FlashSchedule, TwoLengthsThatAreNearlyOneEndAlike) {
  for (const double tiles : {4.0, 12.0, 27.0}) {
    const double one = kTenComputing.end({.few_tiles = tiles, .few = 19}, chunk(12, 9, 3));
    EXPECT_NEAR(kTenComputing.end({.few_tiles = tiles - 2, .few = 19, .many_tiles = 2, .many = 19.01, .last = 1},
                                  chunk(12, 9, 3)),
                one, 0.05)
        << tiles;
  }
}

TEST(FlashSchedule, ADecodeMuchLongerThanAllOthersEndsLast) {
  const double end =
      kTenComputing.end({.few_tiles = 30, .few = 1, .many_tiles = 1, .many = 99, .last = 1}, chunk(10, 3, 3));
  EXPECT_GE(end, 100);
  EXPECT_LT(end, 100 + 3 * 2);
}

}  // namespace
}  // namespace dooly::oracle
