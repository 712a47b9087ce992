#include "workload/random_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace dooly::workload {
namespace {

constexpr std::size_t kDraws = 1'000'000;

std::vector<double> draws(const std::function<double(RandomStream&)>& draw, std::size_t count = kDraws) {
  RandomStream random(42, "test");
  std::vector<double> values(count);
  for (double& value : values) value = draw(random);
  return values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

/// Kolmogorov-Smirnov distance times sqrt(n); above 1.95 with probability 0.1 % if the law is right.
double ks(std::vector<double> values, const std::function<double(double)>& law) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = law(values[i]);
    distance = std::max({distance, at - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - at});
  }
  return distance * std::sqrt(n);
}

TEST(RandomStream, SameNameSameNumbersOtherNameOthers) {
  RandomStream a(1, "arrivals"), b(1, "arrivals"), c(1, "lengths"), d(2, "arrivals"), e(1, "arrivals", 1);
  const std::uint64_t first = a.bits();
  EXPECT_EQ(first, b.bits());
  for (RandomStream* other : {&c, &d, &e}) EXPECT_NE(first, other->bits());
}

TEST(RandomStream, BitsAreTheSameEverywhere) {  // recorded
  RandomStream random(7, "arrivals");
  const std::uint64_t first = random.bits();
  EXPECT_EQ(first, RandomStream(7, "arrivals").bits());
  EXPECT_EQ(first, 16774846758611964498ULL);
}

TEST(RandomStream, ExponentialHasNoClipAndTheRightLaw) {
  const auto values = draws([](RandomStream& r) { return r.exponential(); });
  const double mean = mean_of(values);
  EXPECT_NEAR(mean, 1, 5e-3);                                  // standard error 1e-3
  EXPECT_NEAR(variance_of(values), 1, 2e-2);
  EXPECT_NEAR(std::sqrt(variance_of(values)) / mean, 1, 1e-2);
  EXPECT_LT(ks(values, [](double x) { return 1 - std::exp(-x); }), 1.95);
  // P(gap > 3) = e^-3 = 4.98 %: a clip at three times the mean would show none.
  const auto beyond = std::count_if(values.begin(), values.end(), [](double x) { return x > 3; });
  EXPECT_NEAR(static_cast<double>(beyond) / kDraws, std::exp(-3.0), 1e-3);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 11);
}

TEST(RandomStream, NormalHasTheRightLaw) {
  const auto values = draws([](RandomStream& r) { return r.normal(); });
  EXPECT_NEAR(mean_of(values), 0, 5e-3);
  EXPECT_NEAR(variance_of(values), 1, 1e-2);
  EXPECT_LT(ks(values, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }), 1.95);
}

TEST(RandomStream, GammaHasTheRightMomentsAboveAndBelowShapeOne) {
  for (const double shape : {0.05, 0.25, 1.0, 4.0, 100.0}) {
    const auto values = draws([&](RandomStream& r) { return r.gamma(shape); });
    EXPECT_NEAR(mean_of(values) / shape, 1, 5e-3 / std::min(1.0, std::sqrt(shape))) << shape;
    EXPECT_NEAR(variance_of(values) / shape, 1, 2e-2 / std::min(1.0, shape)) << shape;
  }
  const auto two = draws([](RandomStream& r) { return r.gamma(2); });
  EXPECT_LT(ks(two, [](double x) { return 1 - std::exp(-x) * (1 + x); }), 1.95);
  const auto half = draws([](RandomStream& r) { return r.gamma(0.5); });
  EXPECT_LT(ks(half, [](double x) { return std::erf(std::sqrt(x)); }), 1.95);
}

TEST(RandomStream, WeibullHasTheRightLaw) {
  const auto values = draws([](RandomStream& r) { return r.weibull(0.5); });
  EXPECT_LT(ks(values, [](double x) { return 1 - std::exp(-std::sqrt(x)); }), 1.95);
}

TEST(RandomStream, BelowIsUniform) {
  constexpr std::uint64_t kCells = 1000;
  std::vector<double> counts(kCells);
  for (const double value : draws([](RandomStream& r) { return static_cast<double>(r.below(kCells)); }))
    counts[static_cast<std::size_t>(value)] += 1;
  double chi_square = 0;
  for (const double count : counts)
    chi_square += (count - kDraws / 1000.0) * (count - kDraws / 1000.0) / (kDraws / 1000.0);
  EXPECT_NEAR(chi_square, 999, 4 * std::sqrt(2 * 999.0));
}

TEST(RandomStream, UnitsStayInTheirRanges) {
  RandomStream random(3, "range");
  for (int i = 0; i < 100'000; ++i) {
    const double unit = random.unit(), positive = random.positive_unit();
    ASSERT_TRUE(unit >= 0 && unit < 1);
    ASSERT_TRUE(positive > 0 && positive <= 1);
  }
}

}  // namespace
}  // namespace dooly::workload
