#include "oracle_profiled/slowdown.hpp"

#include <gtest/gtest.h>

namespace dooly::oracle {
namespace {

/// Reads 10 us of weights, computes 0.1 us a row: computing bounds from 100 rows on.
RowWork matrix() {
  RowWork work;
  work.memory_fixed = 1e-5;
  work.compute_per_row = 1e-7;
  return work;
}

constexpr double kSingle = 1e-6;  // what a table of single precision rounds to

TEST(RowSlowdown, WithoutMeasuredPointsWhatBoundsDecides) {
  const RowSlowdown slower(1.2, 1.05);
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 10), 1.05);
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 1000), 1.2);
}

TEST(RowSlowdown, MeasuredRatiosHoldAndAreInterpolatedInTheLogarithmOfTheRows) {
  RowSlowdown slower(1.2, 1.05);
  slower.measured({{4, 1.08}, {16, 1.12}, {1024, 1.3}}, matrix());
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 1), 1.08);
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 4), 1.08);
  EXPECT_NEAR(slower.factor(matrix(), 8), 1.10, 1e-12);
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 1024), 1.3);
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 8192), 1.3);
  EXPECT_DOUBLE_EQ(slower.computing(), 1.3) << "of the rows that computing bounds";
}

TEST(RowSlowdown, BelowPointsThatComputingBoundsReadingIsThePlatforms) {
  RowSlowdown slower(1.2, 1.05);
  slower.measured({{1000, 1.4}}, matrix());
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 10), 1.05);
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 500), 1.4);
}

TEST(RowSlowdown, NoKernelGainsByASlowerClock) {
  RowSlowdown slower;
  slower.measured({{8, 0.9}, {64, 2.5}}, matrix());
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 8), 1.0);
  EXPECT_DOUBLE_EQ(slower.factor(matrix(), 64), 1.6);
}

TEST(AttentionSlowdown, APointHasItsOwnValueAndOthersLieBetweenThem) {
  const AttentionSlowdown slower({{1, 1023, 1.2}, {64, 1024, 1.05}});
  EXPECT_NEAR(slower.factor(1, 1023), 1.2, kSingle);   // at a node
  EXPECT_NEAR(slower.factor(64, 1024), 1.05, 0.0005);  // between nodes
  const double between = slower.factor(8, 1024);
  EXPECT_GT(between, 1.05);
  EXPECT_LT(between, 1.2);
  EXPECT_LT(slower.factor(32, 1024), between);
  EXPECT_DOUBLE_EQ(slower.mean(), 1.125);
  EXPECT_TRUE(AttentionSlowdown().empty());
}

TEST(AttentionSlowdown, HoldsBeyondItsTable) {
  const AttentionSlowdown slower({{1, 255, 1.2}, {15, 255, 1.0}});
  EXPECT_EQ(slower.factor(1e9, 255), slower.factor((1 << 18) - 1, 255));
  EXPECT_EQ(slower.factor(3, 1e12), slower.factor(3, (1 << 22) - 1));
}

TEST(SustainedOverCool, TimesOfOnePointCountByTheirMean) {
  SustainedOverCool<double> both;
  both.add_cool(8, 1e-5);
  both.add_cool(8, 3e-5);
  both.add_sustained(8, 2e-5);
  both.add_sustained(8, 4e-5);
  both.add_cool(16, 1e-5);
  ASSERT_EQ(both.ratios().size(), 1u);
  EXPECT_DOUBLE_EQ(both.ratios().at(8), 1.5);  // 30 us of 20 us
}

TEST(SustainedOverCool, OnlyPointsOfBothRegimesAndOnlyGoodOnes) {
  const auto sample = [](SamplePoint point, double seconds, ClockRegime regime) {
    Sample s;
    s.point = point;
    s.median_s = seconds;
    s.regime = regime;
    return s;
  };
  std::vector<Sample> samples{sample({8}, 1e-5, ClockRegime::kCool), sample({8}, 1.1e-5, ClockRegime::kSustained),
                              sample({16}, 1e-5, ClockRegime::kCool), sample({32}, 1e-5, ClockRegime::kSustained)};
  samples.push_back(sample({16}, 2e-5, ClockRegime::kSustained));
  samples.back().status = SampleStatus::kLaunchFailed;
  const auto ratios = sustained_over_cool(samples);
  ASSERT_EQ(ratios.size(), 1u);
  EXPECT_NEAR(ratios.begin()->second, 1.1, 1e-12);
}

TEST(AttentionSlowdown, WeighsPointsByOneOverTheSquaredDistance) {
  // Logarithms (1, 1), (3, 1), (1, 3), (3, 3), (2, 5): from (2, 1) squares 1, 1, 5, 5, 16.
  const AttentionSlowdown slower({{1, 1, 1.1}, {7, 1, 1.2}, {1, 7, 1.3}, {7, 7, 1.4}, {3, 31, 1.5}});
  const double weights = 1 + 1 + 0.2 + 0.2 + 0.0625;
  EXPECT_NEAR(slower.factor(3, 1), (1.1 + 1.2 + 0.2 * 1.3 + 0.2 * 1.4 + 0.0625 * 1.5) / weights, kSingle);
  EXPECT_NEAR(slower.factor(7, 7), 1.4, kSingle) << "a point of its own";
  EXPECT_NEAR(slower.factor(3, 31), 1.5, kSingle);
  EXPECT_NEAR(slower.mean(), 1.3, 1e-12);
  EXPECT_NEAR(AttentionSlowdown({{4, 4, 1.25}}).factor(100, 9), 1.25, kSingle);
}

}  // namespace
}  // namespace dooly::oracle
