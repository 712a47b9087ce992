#include "workload/exact_math.hpp"

#include "workload/random_stream.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>

namespace dooly::workload {
namespace {

/// How many units in the last place of the true value `got` is off; `truth` is computed with 200 bits.
double ulps_off(double got, const mpfr_t truth) {
  const double nearest = mpfr_get_d(truth, MPFR_RNDN);
  mpfr_t difference;
  mpfr_init2(difference, 200);
  mpfr_d_sub(difference, got, truth, MPFR_RNDN);
  const double ulp = std::nextafter(std::abs(nearest), HUGE_VAL) - std::abs(nearest);
  const double off = std::abs(mpfr_get_d(difference, MPFR_RNDN)) / ulp;
  mpfr_clear(difference);
  return off;
}

template <typename Function>
double worst(double (*ours)(double), Function theirs, double low, double high, bool logarithmic) {
  RandomStream random(7, "points");
  mpfr_t x;
  mpfr_init2(x, 200);
  double most = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double at = logarithmic ? low * std::pow(high / low, random.unit()) : low + (high - low) * random.unit();
    mpfr_set_d(x, at, MPFR_RNDN);
    theirs(x);
    most = std::max(most, ulps_off(ours(at), x));
  }
  mpfr_clear(x);
  return most;
}

const auto kLog = [](mpfr_t x) { mpfr_log(x, x, MPFR_RNDN); };
const auto kExp = [](mpfr_t x) { mpfr_exp(x, x, MPFR_RNDN); };
const auto kGamma = [](mpfr_t x) { mpfr_gamma(x, x, MPFR_RNDN); };

TEST(ExactMath, LogarithmIsWithinTwoUlp) {
  EXPECT_LE(worst(exact_log, kLog, 1e-300, 1e300, true), 2);
  EXPECT_LE(worst(exact_log, kLog, 0x1p-53, 1, true), 2);
  EXPECT_LE(worst(exact_log, kLog, 0.7, 1.5, false), 2);
  EXPECT_EQ(exact_log(1), 0);
}

TEST(ExactMath, ExponentialIsWithinTwoUlp) {
  EXPECT_LE(worst(exact_exp, kExp, -707, 708, false), 2);
  EXPECT_LE(worst(exact_exp, kExp, -2, 2, false), 2);
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_EQ(exact_exp(-1e6), 0);
  EXPECT_EQ(exact_exp(1e6), HUGE_VAL);
}

TEST(ExactMath, GammaIsWithinOnePartInATrillion) {
  EXPECT_LE(worst(exact_gamma, kGamma, 1, 169, false) * 0x1p-52, 1e-12);
  EXPECT_NEAR(exact_gamma(5), 24, 1e-11);
}

TEST(ExactMath, BitsAreTheSameEverywhere) {  // recorded; a change of a bit changes every committed result
  EXPECT_EQ(exact_log(0.1), -0x1.26bb1bbb55515p+1);
  EXPECT_EQ(exact_exp(0.1), 0x1.1aec7b35a00d4p+0);
}

}  // namespace
}  // namespace dooly::workload
