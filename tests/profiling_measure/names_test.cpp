#include "profiling_measure/drift_watch.hpp"
#include "profiling_measure/gpu_name.hpp"
#include "profiling_measure/shuffle.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::profiling {
namespace {

TEST(GpuName, DriversNamesAreThoseOfTheTable) {
  EXPECT_EQ(table_gpu_name("NVIDIA H200"), "H200-SXM");
  EXPECT_EQ(table_gpu_name("NVIDIA H100 80GB HBM3"), "H100-SXM");
  EXPECT_EQ(table_gpu_name("NVIDIA Something 9"), "NVIDIA Something 9");
}

TEST(DriftWatch, ASlowReferenceIsSuspiciousUntilItRecovers) {
  DriftWatch watch(0.03, 10);
  EXPECT_TRUE(watch.is_due(0));
  EXPECT_TRUE(watch.accept(1e-3, 0));
  EXPECT_FALSE(watch.is_due(9));
  EXPECT_TRUE(watch.is_due(10));
  EXPECT_FALSE(watch.accept(1.05e-3, 10));
  EXPECT_EQ(watch.suspicion(), "the reference kernel is +5.0 % off its first time");
  EXPECT_TRUE(watch.accept(1.01e-3, 20));
  EXPECT_EQ(watch.suspicion(), "");
}

TEST(Shuffled, IsAPermutationAndTheSameEachTime) {
  auto order = shuffled<int>(100, 7);
  EXPECT_EQ(order, shuffled<int>(100, 7));
  EXPECT_NE(order, shuffled<int>(100, 8));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace dooly::profiling
