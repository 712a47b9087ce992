#include "profiling_comm/size_plan.hpp"

#include "oracle/gpu.hpp"
#include "oracle_profiled/entry_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace dooly::profiling {
namespace {

using oracle::Sample;
using oracle::SampleStatus;

const Collective kReduce{CollectiveKind::kAllReduce, "bfloat16", 2};

Sample at(std::uint64_t bytes, double seconds, SampleStatus status = SampleStatus::kOk) {
  Sample sample;
  sample.point = {bytes, 2};
  sample.status = status;
  sample.median_s = seconds;
  return sample;
}

std::vector<Sample> measured(const SizePlan& plan, const std::function<double(double)>& law) {
  std::vector<Sample> samples;
  for (std::vector<std::uint64_t> sizes; !(sizes = plan.next(samples)).empty();)
    for (const std::uint64_t bytes : sizes) samples.push_back(at(bytes, law(static_cast<double>(bytes))));
  return samples;
}

SizePlan plan_of(const Collective& collective, SizeLimits limits = {}) {
  return {collective, limits, oracle::find_gpu("H200-SXM")};
}

TEST(SizePlan, BeginsWithPowersOfTwo) {
  const auto sizes = plan_of(kReduce).next({});
  ASSERT_EQ(sizes.size(), 23u);
  EXPECT_EQ(sizes.front(), 256u);
  EXPECT_EQ(sizes[1], 512u);
  EXPECT_EQ(sizes.back(), std::uint64_t{1} << 30);
}

TEST(SizePlan, SizesAreWholeForEachRank) {
  const Collective scatter{CollectiveKind::kReduceScatter, "bfloat16", 6};
  for (const std::uint64_t bytes : plan_of(scatter).next({})) EXPECT_EQ(bytes % (6 * 16), 0u) << bytes;
}

TEST(SizePlan, LatencyAndBandwidthAloneNeedLittleMore) {
  const auto samples = measured(plan_of(kReduce), [](double bytes) { return 10e-6 + bytes / 300e9; });
  EXPECT_LE(samples.size(), 25u);  // straight in the bytes
}

TEST(SizePlan, AStepIsSurrounded) {
  const double step = 700e3;
  const auto law = [step](double bytes) { return 10e-6 + bytes / 300e9 + (bytes >= step ? 6e-6 : 0); };
  const SizePlan plan = plan_of(kReduce);
  const auto samples = measured(plan, law);
  EXPECT_GT(samples.size(), 23u);
  EXPECT_LE(samples.size(), 36u);
  double below = 0, above = 1e12;
  for (const Sample& sample : samples) {
    const auto bytes = static_cast<double>(sample.point[0]);
    (bytes < step ? below : above) = bytes < step ? std::max(below, bytes) : std::min(above, bytes);
  }
  EXPECT_LT(above / below, 1.3);
}

TEST(SizePlan, ACurvedLawIsPredictedToTheTarget) {
  const auto law = [](double bytes) { return 8e-6 + 2e-9 * std::pow(bytes, 0.7) + bytes / 400e9; };
  const SizePlan plan = plan_of(kReduce);
  const auto samples = measured(plan, law);
  EXPECT_LE(samples.size(), 64u);
  EXPECT_LT(plan.fold_error(samples), 0.03);
}

TEST(SizePlan, FlatTimesAreNotSplit) {
  const auto samples = measured(plan_of(kReduce, {.first = 256, .last = 65536}),
                                [turn = 0](double) mutable { return turn++ % 2 == 0 ? 10e-6 : 10.2e-6; });
  EXPECT_EQ(samples.size(), 9u);
}

TEST(SizePlan, WhereMemoryEndsNothingLargerIsTried) {
  const SizePlan plan = plan_of(kReduce);
  const auto sizes = plan.next({at(1 << 20, 0, SampleStatus::kOutOfMemory)});
  EXPECT_EQ(sizes.back(), 1u << 19);
}

TEST(SizePlan, AFailedSizeAloneIsNotTriedAgain) {
  const SizePlan plan = plan_of(kReduce);
  const auto sizes = plan.next({at(1 << 20, 0, SampleStatus::kLaunchFailed)});
  EXPECT_EQ(sizes.size(), 22u);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 1u << 20), 0);
}

TEST(SizePlan, NoisyTimesEndAtTheMostPoints) {
  const auto samples = measured(plan_of(kReduce, {.max_points = 40}), [turn = 0](double bytes) mutable {
    return (10e-6 + bytes / 300e9) * (turn++ % 2 == 0 ? 1 : 1.4);
  });
  EXPECT_LE(samples.size(), 40u);
}

}  // namespace
}  // namespace dooly::profiling
