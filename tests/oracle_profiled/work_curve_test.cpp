#include "oracle_profiled/work_curve.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <random>

namespace dooly::oracle {
namespace {

/// Memory 100 s whatever the rows, computing 1 s a row: the knee is at 100 rows.
RowWork knee() {
  RowWork work;
  work.compute_per_row = 1;
  work.memory_fixed = 100;
  return work;
}

TEST(WorkCurve, AnswersMeasuredPointsAsMeasured) {
  const WorkCurve curve({{200, 230}, {10, 110}}, knee());
  EXPECT_DOUBLE_EQ(curve.at(10).seconds, 110);
  EXPECT_EQ(curve.at(10).origin, Origin::kMeasured);
  EXPECT_EQ(curve.at(10).error, 0);
  EXPECT_DOUBLE_EQ(curve.at(200).seconds, 230);
}

TEST(WorkCurve, IsLinearInTheWorkBetweenPoints) {
  const WorkCurve curve({{10, 110}, {200, 230}}, knee());
  // Work is 100 up to the knee and 200 at the end: flat, then a line.
  EXPECT_DOUBLE_EQ(curve.at(100).seconds, 110);
  EXPECT_DOUBLE_EQ(curve.at(150).seconds, 170);
  EXPECT_EQ(curve.at(150).origin, Origin::kInterpolated);
}

TEST(WorkCurve, KeepsATileStep) {
  RowWork work;
  work.compute_per_row = 1;
  const WorkCurve curve({{128, 10}, {129, 20}, {256, 21}}, work);
  EXPECT_DOUBLE_EQ(curve.at(128).seconds, 10);
  EXPECT_DOUBLE_EQ(curve.at(129).seconds, 20);
}

TEST(WorkCurve, BetweenPointsOfASweepNoTileBegins) {
  RowWork work;
  work.compute_per_row = 1;
  work.tile = 128;
  const WorkCurve imported({{513, 10}, {640, 20}}, work), swept({{513, 10, 1}, {640, 20, 2}}, work);
  EXPECT_DOUBLE_EQ(imported.at(514).seconds, 20);
  EXPECT_NEAR(swept.at(514).seconds, 10 + 10.0 / 127, 1e-9);
}

TEST(WorkCurve, FollowsTilesOfExperts) {
  RowWork work;
  work.memory_fixed = 1;
  work.experts = 8, work.experts_per_token = 2;
  work.in_expert_tiles = true;
  // From 512 tokens to 516 every expert begins a second tile; after that its rows add little.
  const WorkCurve curve({{512, 800, 1}, {640, 1140, 1}}, work);
  EXPECT_NEAR(curve.at(516).seconds, 800 + 340 * (8 + 0.0625 * 0.25) / 8.5, 3);
  EXPECT_NEAR(curve.at(514).seconds, 800 + 340 * 4 / 8.5, 3);
}

TEST(WorkCurve, AveragesTimesThatFallButNotFromOneKernelToTheNext) {
  const WorkCurve one({{8, 50}, {16, 80}, {17, 20}, {32, 30}}, RowWork{});
  EXPECT_NEAR(one.at(16).seconds, 45, 1e-9);  // the mean of 50, 80, 20 and 30: all are pooled
  const WorkCurve two({{8, 50, 1}, {16, 80, 1}, {17, 20, 2}, {32, 18, 2}, {64, 30, 2}}, RowWork{});
  EXPECT_DOUBLE_EQ(two.at(16).seconds, 80);
  EXPECT_DOUBLE_EQ(two.at(17).seconds, 19);
  EXPECT_DOUBLE_EQ(two.at(32).seconds, 19);
  EXPECT_DOUBLE_EQ(two.at(64).seconds, 30);
}

TEST(WorkCurve, ExtrapolatesByTheScaledRooflineAndSaysSo) {
  const WorkCurve curve({{10, 110}, {200, 300}}, knee());
  EXPECT_DOUBLE_EQ(curve.at(400).seconds, 600);  // 300 × 400 ÷ 200
  EXPECT_EQ(curve.at(400).origin, Origin::kExtrapolated);
  EXPECT_DOUBLE_EQ(curve.at(1).seconds, 110);
  EXPECT_EQ(curve.at(1).origin, Origin::kExtrapolated);
  EXPECT_GT(curve.at(4000).error, curve.at(400).error);
}

TEST(WorkCurve, OfOnePointAnswersEverywhere) {
  for (const std::vector<WorkCurve::Point>& points :
       {std::vector<WorkCurve::Point>{{100, 150}}, std::vector<WorkCurve::Point>{{100, 140}, {100, 160}}}) {
    const WorkCurve curve(points, knee());
    EXPECT_DOUBLE_EQ(curve.at(100).seconds, 150);
    EXPECT_EQ(curve.at(100).origin, Origin::kMeasured);
    EXPECT_DOUBLE_EQ(curve.at(50).seconds, 150);
    EXPECT_DOUBLE_EQ(curve.at(200).seconds, 300);
    EXPECT_EQ(curve.at(50).origin, Origin::kExtrapolated);
    EXPECT_GE(curve.at(200).error, kOnePointError);
  }
}

TEST(WorkCurve, WithoutPointsIsTheRoofline) {
  const WorkCurve curve({}, knee());
  EXPECT_DOUBLE_EQ(curve.at(300).seconds, 300);
  EXPECT_EQ(curve.at(300).origin, Origin::kRoofline);
}

TEST(WorkCurve, LeavesOutImpossibleTimes) {
  const WorkCurve curve({{10, 0}, {20, -1}, {30, std::nan("")}, {40, 120}}, knee());
  EXPECT_EQ(curve.points().size(), 1u);
}

TEST(WorkCurve, AveragesTimesThatFall) {
  const WorkCurve curve({{1, 100}, {2, 120}, {4, 110}, {8, 130}}, knee());
  EXPECT_DOUBLE_EQ(curve.at(2).seconds, 115);
  EXPECT_DOUBLE_EQ(curve.at(4).seconds, 115);
  EXPECT_NEAR(curve.at(2).error, 1 - 115.0 / 120, 1e-12);
}

TEST(WorkCurve, FoldErrorIsThatOfLeftOutPoints) {
  RowWork work;
  work.memory_per_row = 1;
  // The middle point is predicted as 15 and measured as 20.
  EXPECT_NEAR(WorkCurve({{10, 10}, {15, 20}, {20, 20}}, work).fold_error(), 0.25, 1e-12);
  EXPECT_EQ(WorkCurve({{10, 10}, {20, 20}}, work).fold_error(), 0);
}

TEST(WorkCurve, StepsWhereTheTileBegins) {
  RowWork work;
  work.compute_per_row = 1;
  work.tile = 16;
  const WorkCurve curve({{640, 10}, {656, 20}, {700, 24}, {1024, 30}}, work);
  EXPECT_DOUBLE_EQ(curve.at(640).seconds, 10);
  EXPECT_DOUBLE_EQ(curve.at(641).seconds, 20);
  EXPECT_DOUBLE_EQ(curve.at(655).seconds, 20);
  EXPECT_DOUBLE_EQ(curve.at(699).seconds, 24) << "not beyond the next point";
  EXPECT_DOUBLE_EQ(curve.at(705).seconds, curve.at(768).seconds) << "tiles of 128 rows from the third on";
  EXPECT_LT(curve.at(768).seconds, curve.at(769).seconds);
  const WorkCurve small({{128, 10}, {256, 20}}, work);
  EXPECT_DOUBLE_EQ(small.at(145).seconds, small.at(160).seconds);
  EXPECT_LT(small.at(160).seconds, small.at(161).seconds);
  const WorkCurve large({{1024, 10}, {2048, 20}}, work);
  EXPECT_LT(large.at(1100).seconds, large.at(1101).seconds) << "smooth where a tile more is no wave more";
}

TEST(WorkCurve, IsMonotonePositiveAndContinuous) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> time(1, 1000), where(1, 5000);
  for (int round = 0; round < 200; ++round) {
    std::vector<WorkCurve::Point> points;
    for (int i = 0; i <= round % 12; ++i) points.push_back({std::floor(where(random)), time(random)});
    RowWork work;
    work.compute_per_row = time(random) / 1000;
    work.memory_fixed = time(random);
    work.memory_per_row = time(random) / 10000;
    work.fixed = 0.1;
    const WorkCurve curve(points, work);
    double before = 0;
    for (double x = 0; x < 8000; x += 13) {
      const double seconds = curve.at(x).seconds;
      EXPECT_GT(seconds, 0);
      EXPECT_GE(seconds, before * (1 - 1e-12)) << "round " << round << " at " << x;
      before = seconds;
    }
    for (const WorkCurve::Point& p : curve.points()) {
      EXPECT_NEAR(curve.at(p.x - 1e-9).seconds / curve.at(p.x).seconds, 1, 1e-6);
      EXPECT_NEAR(curve.at(p.x + 1e-9).seconds / curve.at(p.x).seconds, 1, 1e-6);
    }
  }
}

}  // namespace
}  // namespace dooly::oracle
