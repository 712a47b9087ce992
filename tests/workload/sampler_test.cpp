#include "workload/sampler.hpp"

#include "support.hpp"
#include "workload/workload_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace dooly::workload {
namespace {

using test::error_of;
using test::TempFile;

constexpr auto kWhole = Sampler::Kind::kWhole;
constexpr auto kSeconds = Sampler::Kind::kSeconds;

std::vector<double> draws(const scenario::Distribution& law, Sampler::Kind kind, std::size_t count = 1'000'000) {
  const Sampler sampler(law, kind, "law");
  RandomStream random(5, "draws");
  std::vector<double> values(count);
  for (double& value : values) value = sampler.draw(random);
  return values;
}

TEST(Sampler, FixedIsFixed) { EXPECT_EQ(draws(scenario::Fixed{512}, kWhole, 3), (std::vector<double>{512, 512, 512})); }

TEST(Sampler, UniformWholeNumbersIncludeBothEnds) {
  std::map<double, int> counts;
  for (const double value : draws(scenario::Uniform{3, 6}, kWhole, 100'000)) ++counts[value];
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 25'000, 600) << value;
}

// sigma = z - sqrt(z^2 - 2 ln(p99 / mean)): for 1155 and 4000, 2.32635 - sqrt(5.41189 - 2.48441) = 0.61535.
TEST(Sampler, LognormalSolvesForTheSmallerSigma) {
  const LognormalLaw law = lognormal_from(1155, 4000);
  ASSERT_TRUE(law.solvable);
  EXPECT_NEAR(law.sigma, 0.61535, 1e-5);
  EXPECT_NEAR(std::exp(law.mu + law.sigma * law.sigma / 2), 1155, 1e-9);
  EXPECT_NEAR(std::exp(law.mu + 2.3263478740408411 * law.sigma), 4000, 1e-8);
}

TEST(Sampler, LognormalHasTheMeanAndP99ThatWereAskedFor) {
  auto values = draws(scenario::Lognormal{1155, 4000, 1e8}, kWhole);
  double sum = 0;
  for (const double value : values) sum += value;
  EXPECT_NEAR(sum / static_cast<double>(values.size()), 1155, 5);
  std::nth_element(values.begin(), values.begin() + 990'000, values.end());
  EXPECT_NEAR(values[990'000], 4000, 40);
}

TEST(Sampler, LognormalDrawsAgainAboveMax) {
  const auto values = draws(scenario::Lognormal{1155, 4000, 1200}, kWhole, 100'000);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 1200);
  EXPECT_LT(std::count(values.begin(), values.end(), 1200.0), 200);  // not piled up there
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 1);
}

TEST(Sampler, LognormalWithoutSolutionIsRefused) {
  EXPECT_FALSE(lognormal_from(100, 1e6).solvable);   // p99 / mean may not exceed exp(z^2 / 2) = 14.97
  EXPECT_TRUE(lognormal_from(100, 1496).solvable);
  EXPECT_FALSE(lognormal_from(100, 1498).solvable);
  EXPECT_FALSE(lognormal_from(100, 99).solvable);
  EXPECT_EQ(error_of([] {
              Sampler(scenario::Lognormal{100, 1e6, 1e7}, kWhole, "chat: prompt_tokens");
            }),
            "chat: prompt_tokens: no lognormal law has mean 100 and p99 1000000");
}

TEST(Sampler, LognormalOfOneValueIsThatValue) {
  EXPECT_EQ(draws(scenario::Lognormal{100.4, 100.4, 100.4}, kWhole, 3), (std::vector<double>{100, 100, 100}));
  EXPECT_EQ(draws(scenario::Lognormal{1.7, 1.7, 1.7}, kSeconds, 2), (std::vector<double>{1.7, 1.7}));
  for (const double value : draws(scenario::Lognormal{100.6, 100.61, 100.7}, kWhole, 1000)) EXPECT_EQ(value, 100);
}

TEST(Sampler, ZipfFollowsItsPowerLaw) {
  constexpr double kExponent = 1.2;
  std::map<double, double> counts;
  for (const double value : draws(scenario::Zipf{kExponent, 10, 59}, kWhole)) counts[value] += 1;
  double total = 0;
  for (int k = 1; k <= 50; ++k) total += std::pow(k, -kExponent);
  double chi_square = 0;
  for (int k = 1; k <= 50; ++k) {
    const double expected = 1e6 * std::pow(k, -kExponent) / total;
    chi_square += (counts[9 + k] - expected) * (counts[9 + k] - expected) / expected;
  }
  EXPECT_EQ(counts.size(), 50U);
  EXPECT_NEAR(chi_square, 49, 4 * std::sqrt(2 * 49.0));
}

TEST(Sampler, EmpiricalDrawsTheFilesNumbers) {
  const TempFile file("lengths.csv", "turn,tokens\n1,10\n2,20\n3,20\n");
  std::map<double, int> counts;
  for (const double value : draws(scenario::Empirical{file.path(), "tokens"}, kWhole, 30'000)) ++counts[value];
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_NEAR(counts[10], 10'000, 400);
}

TEST(Sampler, EmpiricalNamesTheLineOfABadNumber) {
  const TempFile file("lengths.txt", "10\n2x0\n");
  EXPECT_EQ(error_of([&] {
              Sampler(scenario::Empirical{file.path(), ""}, kWhole, "law");
            }),
            file.path().string() + ":2: want a number, got '2x0'");
  const TempFile zero("lengths.txt", "10\n0\n");
  EXPECT_EQ(error_of([&] {
              Sampler(scenario::Empirical{zero.path(), ""}, kWhole, "law");
            }),
            zero.path().string() + ":2: law: must be from 1 to 100000000, got 0");
  const TempFile table("lengths.csv", "a,b\n1,2\n");
  EXPECT_NE(error_of([&] {
              Sampler(scenario::Empirical{table.path(), ""}, kWhole, "law");
            }).find("several columns"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              Sampler(scenario::Empirical{table.path(), "c"}, kWhole, "law");
            }).find("no column 'c'"),
            std::string::npos);
}

TEST(Sampler, ValuesThatAreNoLengthsAreRefused) {
  EXPECT_NE(error_of([] { Sampler(scenario::Fixed{0}, kWhole, "x"); }), "");
  EXPECT_NE(error_of([] { Sampler(scenario::Fixed{1.5}, kWhole, "x"); }), "");
  EXPECT_NE(error_of([] { Sampler(scenario::Fixed{std::nan("")}, kWhole, "x"); }), "");
  EXPECT_NE(error_of([] { Sampler(scenario::Uniform{5, 4}, kWhole, "x"); }), "");
  EXPECT_NE(error_of([] { Sampler(scenario::Fixed{-1}, kSeconds, "x"); }), "");
  EXPECT_EQ(error_of([] { Sampler(scenario::Fixed{0}, kSeconds, "x"); }), "");
}

}  // namespace
}  // namespace dooly::workload
