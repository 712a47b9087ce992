#include "oracle_profiled/expert_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

const ExpertTiles kMixtral(8, 2);  // an expert has a quarter of the tokens

TEST(ExpertTiles, CountTilesOfEachExpert) {
  EXPECT_EQ(kMixtral.balanced(1), 2);
  EXPECT_EQ(kMixtral.balanced(3), 6);
  EXPECT_EQ(kMixtral.balanced(4), 8);
  EXPECT_EQ(kMixtral.balanced(512), 8);
  EXPECT_EQ(kMixtral.balanced(513), 10) << "two experts have a row more than a tile";
  EXPECT_EQ(kMixtral.balanced(516), 16);
  EXPECT_EQ(kMixtral.balanced(1024), 16);
  EXPECT_EQ(kMixtral.balanced(1025), 18);
  EXPECT_EQ(ExpertTiles(128, 8).balanced(5), 40);
}

TEST(ExpertTiles, ProgressIsMostlyInTheTiles) {
  const double step = kMixtral.progress(516) - kMixtral.progress(512);
  EXPECT_GT(step, 3 * (kMixtral.progress(1024) - kMixtral.progress(516)) / 2);
  for (double tokens = 1; tokens < 4096; ++tokens) EXPECT_GT(kMixtral.progress(tokens + 1), kMixtral.progress(tokens));
}

/// Of `trials` choices with that chance, P(exactly `hits`).
double chance_of(double trials, double hits, double chance) {
  return std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) - std::lgamma(trials - hits + 1) +
                  hits * std::log(chance) + (trials - hits) * std::log1p(-chance));
}

/// Mean tiles of all experts, each of which a token chooses with the same chance.
double mean_tiles(double experts, double per_token, double tokens) {
  double tiles = 0;
  for (double rows = 1; rows <= tokens; ++rows)
    tiles += chance_of(tokens, rows, per_token / experts) * std::ceil(rows / ExpertTiles::kRows);
  return experts * tiles;
}

TEST(ExpertTiles, OfARandomRouterAreTheMeanOfTheBinomialLaw) {
  const auto tiles = [](double tokens) { return kMixtral.balanced(tokens); };
  for (const double tokens : {1.0, 2.0, 5.0, 16.0, 100.0, 480.0, 500.0, 512.0, 514.0, 560.0, 700.0, 1024.0, 2000.0})
    EXPECT_NEAR(kMixtral.random_seconds(tokens, tiles), mean_tiles(8, 2, tokens), 0.01 * mean_tiles(8, 2, tokens))
        << tokens;
}

TEST(ExpertTiles, PlacesFollowTheRandomRoutersTime) {
  const auto seconds = [](double tokens) { return 1 + kMixtral.progress(tokens); };
  const std::vector<double> places = kMixtral.random_places(4096);
  ASSERT_EQ(places.front(), 1);
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    const double middle = std::floor((places[i] + places[i + 1]) / 2),
                 part = (middle - places[i]) / (places[i + 1] - places[i]);
    const double from = kMixtral.random_seconds(places[i], seconds),
                 to = kMixtral.random_seconds(places[i + 1], seconds);
    const double time = kMixtral.random_seconds(middle, seconds);
    EXPECT_NEAR(from + (to - from) * part, time, 0.01 * time) << middle;
  }
}

TEST(ExpertTiles, OfAnyNumberOfTokensAreFewPlaces) {
  for (const double most : {1e6, std::exp2(40), std::exp2(63)})
    for (const ExpertTiles& experts : {kMixtral, ExpertTiles(128, 8), ExpertTiles(1, 1), ExpertTiles(65536, 1)}) {
      const std::vector<double> places = experts.random_places(most);
      EXPECT_LE(places.size(), 1500U) << most;
      EXPECT_GE(places.back(), most * 0.9) << most;
    }
}

TEST(ExpertTiles, OfManyTokensTakeWhatBalancedOnesDo) {
  int asked = 0;
  const auto seconds = [&](double tokens) { return ++asked, 1e-6 * tokens; };
  EXPECT_DOUBLE_EQ(kMixtral.random_seconds(std::exp2(50), seconds), 1e-6 * std::exp2(50));
  EXPECT_EQ(asked, 1);
}

TEST(ExpertTiles, ThatCannotExistHaveNoPlacesAndNoFactor) {
  for (const ExpertTiles& experts : {ExpertTiles(0, 2), ExpertTiles(8, 0), ExpertTiles(8, 9), ExpertTiles(1e9, 8)}) {
    EXPECT_FALSE(experts.are_possible());
    EXPECT_TRUE(experts.random_places(4096).empty());
    EXPECT_EQ(experts.random_over_balanced(3), 1);
  }
  EXPECT_TRUE(kMixtral.are_possible());
  EXPECT_TRUE(ExpertTiles(8, 8).are_possible());
}

}  // namespace
}  // namespace dooly::oracle
