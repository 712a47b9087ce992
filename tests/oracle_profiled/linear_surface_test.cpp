#include "oracle_profiled/linear_surface.hpp"

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"

#include <gtest/gtest.h>

namespace dooly::oracle {
namespace {

const LinearTypes kTypes{"bfloat16", "bfloat16", "bfloat16"};

/// Linears that reach `share` of the roofline at every size of a grid.
std::vector<SampleSet> grid(double share) {
  std::vector<SampleSet> sets;
  for (const std::uint64_t k : {64, 128, 256}) {
    for (const std::uint64_t n : {64, 128, 256, 512}) {
      const OperatorKey key = linear_key(kTypes, k, n);
      const RowWork work = linear_work(key, double(k), double(n), test::slow_gpu(), test::ideal());
      SampleSet set{key, signature_of(key), {}};
      for (const std::uint64_t m : {1, 16, 256})
        set.samples.push_back(test::sample({m}, work.seconds(double(m)) / share));
      sets.push_back(set);
    }
  }
  return sets;
}

TEST(LinearSurface, FollowsTheWorkBetweenMeasuredSizes) {
  const OperatorKey key = linear_key(kTypes, 100, 300);
  const LinearSurface surface(grid(0.5), key, test::slow_gpu(), test::ideal());
  EXPECT_EQ(surface.sizes(), 12u);
  const auto curve = surface.at(100, 300);
  ASSERT_TRUE(curve);
  // 2 × 16 × 100 × 300 FLOP at 1 GFLOP/s, half reached.
  EXPECT_NEAR(curve->at(16).seconds, 2 * 16 * 100 * 300 / 1e9 * 2, 1e-9);
  EXPECT_EQ(curve->at(16).origin, Origin::kInterpolated);
  EXPECT_NEAR(surface.fold_error(), 0, 1e-9);
}

TEST(LinearSurface, HoldsTheNearestShareBeyondAndSaysSo) {
  const OperatorKey key = linear_key(kTypes, 128, 1024);
  const LinearSurface surface(grid(0.25), key, test::slow_gpu(), test::ideal());
  const auto curve = surface.at(128, 1024);
  ASSERT_TRUE(curve);
  EXPECT_NEAR(curve->at(256).seconds, 2.0 * 256 * 128 * 1024 / 1e9 * 4, 1e-6);
  EXPECT_EQ(curve->at(256).origin, Origin::kExtrapolated);
  EXPECT_FALSE(surface.at(128, 4096));  // more than four times the largest
}

TEST(LinearSurface, KeepsTypesApart) {
  OperatorKey other = linear_key({"float16", "float16", "float16"}, 128, 128);
  EXPECT_FALSE(LinearSurface(grid(1), other, test::slow_gpu(), test::ideal()).at(128, 128));
}

}  // namespace
}  // namespace dooly::oracle
