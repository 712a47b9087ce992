#include "validate/error_figures.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dooly::validate {
namespace {

Series series_of(std::vector<std::pair<double, double>> pairs) {
  Series series{.name = "requests.ttft"};
  for (const auto& [measured, predicted] : pairs) series.add(measured, predicted);
  return series;
}

TEST(ErrorFigures, ErrorOfTheMeanAndMapeAreDifferentErrors) {
  // +25 %, −25 %, +50 %: the mean is 10 % off, the pairs a third.
  const ErrorFigures figures = error_figures(series_of({{8, 10}, {8, 6}, {4, 6}}));
  EXPECT_EQ(figures.count, 3);
  EXPECT_DOUBLE_EQ(figures.measured_mean, 20.0 / 3);
  EXPECT_DOUBLE_EQ(figures.predicted_mean, 22.0 / 3);
  EXPECT_NEAR(figures.mean, 0.1, 1e-12);
  EXPECT_NEAR(figures.mape, 1.0 / 3, 1e-12);
  EXPECT_NEAR(figures.median, 0.25, 1e-12);
  EXPECT_NEAR(figures.pair_p90, 0.45, 1e-12) << "between a quarter and a half";
}

TEST(ErrorFigures, PercentilesAreComparedAsPercentiles) {
  // measured 1 … 5: p50 3, p90 4.6, p99 4.96; predicted the same reversed and doubled.
  const ErrorFigures figures = error_figures(series_of({{1, 10}, {2, 8}, {3, 6}, {4, 4}, {5, 2}}));
  EXPECT_NEAR(figures.p50, 1.0, 1e-12);
  EXPECT_NEAR(figures.p90, 1.0, 1e-12);
  EXPECT_NEAR(figures.p99, 1.0, 1e-12);
}

TEST(ErrorFigures, MedianKeepsItsSign) {
  EXPECT_NEAR(error_figures(series_of({{10, 9}, {10, 8}, {10, 15}})).median, -0.1, 1e-12);
}

TEST(ErrorFigures, PairsThatAreNoNumbersAreLeftOut) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_figures(series_of({{none, 1}, {1, none}, {2, 2}})).count, 1);
}

TEST(ErrorFigures, NothingComparedIsNoError) {
  const ErrorFigures figures = error_figures(series_of({}));
  EXPECT_EQ(figures.count, 0);
  EXPECT_TRUE(std::isnan(figures.mean));
  EXPECT_TRUE(std::isnan(figures.mape));
}

TEST(ErrorFigures, AMeasuredZeroHasNoRelativeError) {
  const ErrorFigures figures = error_figures(series_of({{0, 1}, {2, 3}}));
  EXPECT_NEAR(figures.mape, 0.5, 1e-12);
  EXPECT_NEAR(figures.mean, 1.0, 1e-12);
}

TEST(ErrorFigures, AreNamedAsBoundsNameThem) {
  const ErrorFigures figures = error_figures(series_of({{10, 11}}));
  for (const std::string_view name : error_names()) EXPECT_NEAR(error_named(figures, name).value(), 0.1, 1e-12) << name;
  EXPECT_FALSE(error_named(figures, "rmse"));
}

}  // namespace
}  // namespace dooly::validate
