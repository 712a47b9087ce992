#include "sample_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "results/finished_request.hpp"

namespace dooly::results {
namespace {

Distribution figures(const std::vector<double>& values, std::uint64_t limit = SampleStore::kExactLimit) {
  SampleStore store(limit);
  for (const double value : values) store.add(value, 0, 0, 0);
  return SampleStore::figures({&store}, SampleStore::kTtft, limit);
}

/// numpy.percentile(values, 100 * percentile), by sorting.
double numpy_percentile(std::vector<double> values, double percentile) {
  std::sort(values.begin(), values.end());
  const double rank = percentile * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double fraction = rank - static_cast<double>(below);
  const double high = values[std::min(below + 1, values.size() - 1)];
  return fraction >= 0.5 ? high - (high - values[below]) * (1 - fraction)
                         : values[below] + (high - values[below]) * fraction;
}

TEST(Distribution, OfNothingHasCountZero) { EXPECT_EQ(figures({}).count, 0U); }

TEST(Distribution, OfOneValueIsThatValue) {
  const Distribution one = figures({0.1});
  EXPECT_EQ(one.count, 1U);
  for (const double figure : {one.mean, one.min, one.p50, one.p90, one.p95, one.p99, one.max}) EXPECT_EQ(figure, 0.1);
  EXPECT_EQ(one.std, 0);
}

TEST(Distribution, InterpolatesBetweenClosestRanks) {
  // ranks of 1, 2, 3, 10: p50 at 1.5, p90 at 2.7, p95 at 2.85, p99 at 2.97; deviations 3, 2, 1, 6 from the mean 4
  const Distribution four = figures({10, 1, 3, 2});
  EXPECT_EQ(four.mean, 4);
  EXPECT_DOUBLE_EQ(four.std, std::sqrt(50.0 / 4));
  EXPECT_EQ(four.min, 1);
  EXPECT_EQ(four.max, 10);
  EXPECT_DOUBLE_EQ(four.p50, 2.5);
  EXPECT_DOUBLE_EQ(four.p90, 3 + 0.7 * 7);
  EXPECT_DOUBLE_EQ(four.p95, 3 + 0.85 * 7);
  EXPECT_DOUBLE_EQ(four.p99, 3 + 0.97 * 7);
  EXPECT_TRUE(four.exact);
}

TEST(Distribution, EqualValuesHaveNoSpread) {
  const Distribution equal = figures(std::vector<double>(1000, 0.1));
  EXPECT_EQ(equal.mean, 0.1);
  EXPECT_EQ(equal.std, 0);
  EXPECT_EQ(equal.p50, 0.1);
  EXPECT_EQ(equal.p99, 0.1);
}

TEST(Distribution, ZerosAreValues) {
  const Distribution mostly = figures({0, 0, 0, 1, 0});
  EXPECT_EQ(mostly.min, 0);
  EXPECT_EQ(mostly.p50, 0);
  EXPECT_DOUBLE_EQ(mostly.p90, 0.6);
  EXPECT_DOUBLE_EQ(mostly.mean, 0.2);
}

TEST(Distribution, UndefinedValuesDoNotCount) {
  const Distribution two = figures({1, kUndefined, 3, kUndefined});
  EXPECT_EQ(two.count, 2U);
  EXPECT_EQ(two.mean, 2);
}

TEST(Distribution, AgreesWithSortingOverChunks) {
  std::mt19937_64 bits(3);
  std::lognormal_distribution<double> law(-3, 1.5);
  std::vector<double> values(50'001);
  for (double& value : values) value = bits() % 10 == 0 ? 0 : law(bits);
  const Distribution all = figures(values);
  EXPECT_EQ(all.count, values.size());
  EXPECT_EQ(all.p50, numpy_percentile(values, 0.5));
  EXPECT_EQ(all.p90, numpy_percentile(values, 0.9));
  EXPECT_EQ(all.p95, numpy_percentile(values, 0.95));
  EXPECT_EQ(all.p99, numpy_percentile(values, 0.99));
  double sum = 0;
  for (const double value : values) sum += value;
  EXPECT_NEAR(all.mean, sum / 50'001, 1e-12);
}

TEST(Distribution, DoesNotDependOnTheOrder) {
  std::mt19937_64 bits(4);
  std::exponential_distribution<double> law(10);
  std::vector<double> values(20'000);
  for (double& value : values) value = law(bits);
  const Distribution forward = figures(values);
  std::reverse(values.begin(), values.end());
  const Distribution backward = figures(values);
  EXPECT_EQ(forward.mean, backward.mean);
  EXPECT_EQ(forward.std, backward.std);
  EXPECT_EQ(forward.p99, backward.p99);
}

class HeavyTails : public testing::TestWithParam<double> {};

TEST_P(HeavyTails, SketchErrsByAtMostAThousandth) {
  std::mt19937_64 bits(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> values(300'000);
  for (double& value : values) value = 1e-3 * std::pow(1 - uniform(bits), -1 / GetParam());  // Pareto
  const Distribution sketched = figures(values, 100'000);
  const Distribution exact = figures(values);
  ASSERT_FALSE(sketched.exact);
  ASSERT_TRUE(exact.exact);
  EXPECT_EQ(sketched.count, exact.count);
  EXPECT_EQ(sketched.min, exact.min);
  EXPECT_EQ(sketched.max, exact.max);
  EXPECT_NEAR(sketched.mean, exact.mean, 1e-12 * exact.mean);
  EXPECT_NEAR(sketched.std, exact.std, 1e-6 * exact.std);
  for (const auto& [approximate, true_value] :
       {std::pair{sketched.p50, exact.p50}, std::pair{sketched.p90, exact.p90}, std::pair{sketched.p95, exact.p95},
        std::pair{sketched.p99, exact.p99}}) {
    EXPECT_NEAR(approximate, true_value, 0.001 * true_value);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, HeavyTails, testing::Values(0.8, 1.1, 2.0, 5.0));

TEST(Sketch, InterpolatesBetweenFarValues) {
  Sketch two;
  two.add(1);
  two.add(3);
  EXPECT_EQ(two.figures().p50, 2);  // min and max are exact
  EXPECT_EQ(two.figures().mean, 2);
  EXPECT_EQ(two.figures().std, 1);
}

TEST(Sketch, WeightsCountAsSoManyValues) {
  Sketch gaps;
  gaps.add(0.01, 98);
  gaps.add(0.5, 2);
  const Distribution pooled = gaps.figures();
  EXPECT_EQ(pooled.count, 100U);
  EXPECT_NEAR(pooled.mean, (0.98 + 1.0) / 100, 1e-15);
  EXPECT_NEAR(pooled.p90, 0.01, 1e-5);
  EXPECT_NEAR(pooled.p99, 0.5, 5e-4);  // rank 98.01 lies between two values of 0.5
}

TEST(Sketch, OfEqualValuesHasNoSpread) {
  Sketch equal;
  for (int i = 0; i < 1000; ++i) equal.add(0.007, 40);
  EXPECT_DOUBLE_EQ(equal.figures().mean, 0.007);
  EXPECT_EQ(equal.figures().std, 0);
  EXPECT_EQ(equal.figures().p50, 0.007);
}

TEST(SampleStore, ClassesBelowTheLimitStayExactWhileTheirUnionIsSketched) {
  constexpr std::uint64_t kLimit = 20'000;
  SampleStore first(kLimit);
  SampleStore second(kLimit);
  for (int i = 1; i <= 15'000; ++i) first.add(i, 0, 0, 0), second.add(i + 15'000, 0, 0, 0);
  EXPECT_TRUE(SampleStore::figures({&first}, SampleStore::kTtft, kLimit).exact);
  const Distribution both = SampleStore::figures({&first, &second}, SampleStore::kTtft, kLimit);
  EXPECT_FALSE(both.exact);
  EXPECT_EQ(both.count, 30'000U);
  EXPECT_NEAR(both.p50, 15'000.5, 15);
  EXPECT_DOUBLE_EQ(both.mean, 15'000.5);
}

TEST(ExactSum, OrderDoesNotMatter) {
  const std::vector<double> values = {1e9, 1e-7, 0.1, 3e-6, 12345.678, 0.1};
  ExactSum forward;
  ExactSum backward;
  for (std::size_t i = 0; i < values.size(); ++i) forward.add(values[i]), backward.add(values[values.size() - 1 - i]);
  EXPECT_EQ(forward.value(), backward.value());
}

TEST(ExactSum, WeightIsRepeatedAdding) {
  ExactSum weighted;
  ExactSum repeated;
  weighted.add(0.1, 1000);
  for (int i = 0; i < 1000; ++i) repeated.add(0.1);
  EXPECT_EQ(weighted.value(), repeated.value());
  EXPECT_EQ(weighted.value(), 100);
}

}  // namespace
}  // namespace dooly::results
