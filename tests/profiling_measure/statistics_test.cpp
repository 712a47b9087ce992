#include "profiling_measure/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dooly::profiling {
namespace {

TEST(Summarise, FiguresOfFiveValues) {
  const std::vector<double> seconds = {4, 1, 2, 5, 3};
  oracle::Sample sample;
  summarise(seconds, sample);
  EXPECT_EQ(sample.count, 5U);
  EXPECT_DOUBLE_EQ(sample.median_s, 3);
  EXPECT_DOUBLE_EQ(sample.mean_s, 3);
  EXPECT_DOUBLE_EQ(sample.std_s, std::sqrt(2.5));
  EXPECT_DOUBLE_EQ(sample.min_s, 1);
  EXPECT_DOUBLE_EQ(sample.p10_s, 1.4);
  EXPECT_DOUBLE_EQ(sample.p90_s, 4.6);
}

TEST(Summarise, OneValueHasNoSpread) {
  const std::vector<double> seconds = {2};
  oracle::Sample sample;
  summarise(seconds, sample);
  EXPECT_DOUBLE_EQ(sample.median_s, 2);
  EXPECT_DOUBLE_EQ(sample.std_s, 0);
}

TEST(RelativeInterval, StudentsTForFiveValues) {
  const std::vector<double> values = {4, 1, 2, 5, 3};
  EXPECT_NEAR(relative_interval(values), 2.776 * std::sqrt(2.5) / std::sqrt(5.0) / 3, 1e-12);
}

TEST(RelativeInterval, OneValueSaysNothing) {
  const std::vector<double> values = {1};
  EXPECT_TRUE(std::isinf(relative_interval(values)));
}

}  // namespace
}  // namespace dooly::profiling
