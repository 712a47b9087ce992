#include "oracle_profiled/tile_dealer.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <utility>

namespace dooly::oracle {
namespace {

TEST(TileDealer, EqualTilesEndInWavesOfAllPlaces) {
  // A tile takes as many units for a block as tiles share its multiprocessor.
  const TileDealer dealer(4, {.slots = 2, .alone = 0});
  EXPECT_DOUBLE_EQ(dealer.end({.few = {4, 10}}), 10);
  EXPECT_DOUBLE_EQ(dealer.end({.few = {5, 10}}), 20);   // two on one
  EXPECT_DOUBLE_EQ(dealer.end({.few = {8, 10}}), 20);
  EXPECT_DOUBLE_EQ(dealer.end({.few = {9, 10}}), 30);   // a wave more, of one that is alone
  EXPECT_DOUBLE_EQ(dealer.end({.few = {13, 10}}), 40);  // of five: two on one again
  EXPECT_DOUBLE_EQ(dealer.end({.rounds = 3, .few = {3, 10}}), 30);
}

TEST(TileDealer, ALoneTileIsSlowerThanItsShare) {
  const TileDealer dealer(4, {.slots = 2, .alone = 2});
  EXPECT_DOUBLE_EQ(dealer.end({.few = {4, 10}}), 10 * std::cbrt(8.0 + 1));
  EXPECT_DOUBLE_EQ(dealer.end({.few = {8, 10}}), 10 * std::cbrt(8.0 + 8));
}

TEST(TileDealer, WhereMemoryIsSharedItMattersHowManyTilesThereAre) {
  const TileDealer own(4, {.slots = 2, .alone = 0}), shared(4, {.slots = 2, .alone = 0, .shares_memory = true});
  // Two of five on one multiprocessor: twice as long there; a quarter longer if all wait for the same memory.
  EXPECT_DOUBLE_EQ(own.end({.few = {5, 10}}), 20);
  EXPECT_DOUBLE_EQ(shared.end({.few = {5, 10}}), 12.5);
  EXPECT_DOUBLE_EQ(shared.end({.few = {8, 10}}), 20);
}

TEST(TileDealer, ALongTileBehindShortOnesEndsLast) {
  const TileDealer dealer(100, {.slots = 1, .alone = 0});
  // Three waves of short ones; the last of them leaves on average half of a block when the long one starts: 2.5 + 50.
  EXPECT_NEAR(dealer.end({.few = {300, 1}, .many = {1, 50}}), 52.5, 0.05);
  // Before them it hides half of their time, and is still the last.
  EXPECT_NEAR(dealer.end({.rounds = 2, .few = {150, 1}, .many = {1, 50}}), 52.5, 0.1);
  // So many that they fill the device: their work counts.
  EXPECT_NEAR(dealer.end({.few = {300, 1}, .many = {1000, 50}}), 503, 25);
}

/// What two lengths stand for may be a part of a tile more or less than what fills all places.
TEST(TileDealer, PartsOfTilesOpenNoRound) {
  for (const TileDealer::Residency residency :
       {TileDealer::Residency{.slots = 2, .alone = 1.3}, {.slots = 2, .alone = 1.3, .shares_memory = true}}) {
    const TileDealer dealer(132, residency);
    for (const auto& [few, many] : {std::pair{528.0, 264.0}, {8.0, 256.0}}) {
      const double whole = dealer.end({.few = {few, 3}, .many = {many, 136}}), equal = dealer.end({.few = {264, 3}});
      for (const double part : {-1e-9, 1e-9, -0.01, 0.01}) {
        EXPECT_NEAR(dealer.end({.few = {few - part, 3}, .many = {many + part, 136}}) / whole, 1, 0.02) << few << part;
        EXPECT_NEAR(dealer.end({.few = {264 + part, 3}}) / equal, 1, 0.02) << part;
      }
    }
  }
}

TEST(TileDealer, LongTilesKeepTheirPlacesFromEachOther) {
  const TileDealer dealer(132, {.slots = 2, .alone = 1.3});
  // 256 long tiles fit at once, if 448 short ones are gone soon: not two waves.
  const double both = dealer.end({.rounds = 64, .few = {4, 256}, .stairs = {7, 1, 4, 1}});
  const double alone = dealer.end({.rounds = 64, .few = {4, 256}});
  EXPECT_GT(both, alone);
  EXPECT_LT(both, 1.15 * alone);
}

TEST(TileDealer, TilesOfAChunkRiseToTheLast) {
  const TileDealer::Stairs stairs{.count = 4, .first = 1, .last = 4, .copies = 2};
  EXPECT_DOUBLE_EQ(stairs.blocks(), 2 * (1 + 2 + 3 + 4));
  EXPECT_DOUBLE_EQ(stairs.squares(), 2 * (1 + 4 + 9 + 16));
  const TileDealer::Stairs windowed{.count = 6, .first = 1, .last = 4, .copies = 1, .flat = 2};
  EXPECT_DOUBLE_EQ(windowed.blocks(), 1 + 2 + 3 + 4 + 4 + 4);
  EXPECT_DOUBLE_EQ(windowed.squares(), 1 + 4 + 9 + 16 + 16 + 16);
}

TEST(TileDealer, TheLastRowsOfAChunkMayComeFirst) {
  const TileDealer dealer(132, {.slots = 1, .alone = 0});
  TileDealer::Round round{.rounds = 32, .stairs = {64, 1, 64, 1}};
  const double last = dealer.end(round);
  round.longest_first = true;
  EXPECT_LT(dealer.end(round), last);
  EXPECT_GE(dealer.end(round), 32 * 64 * 65 / 2 / 132.0);
}

}  // namespace
}  // namespace dooly::oracle
