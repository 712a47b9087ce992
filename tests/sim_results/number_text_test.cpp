#include "results/number_text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

namespace dooly::results {
namespace {

double read(const std::string& text) {
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Significant digits of a number's text.
std::string digits(const std::string& text) {
  std::string kept;
  for (const char c : text.substr(0, text.find('e'))) {
    if (c >= '0' && c <= '9') kept += c;
  }
  kept.erase(0, kept.find_first_not_of('0'));
  while (!kept.empty() && kept.back() == '0') kept.pop_back();
  return kept;
}

void expect_shortest(double value) {
  const std::string text = number_text(value);
  ASSERT_EQ(std::bit_cast<std::uint64_t>(read(text)), std::bit_cast<std::uint64_t>(value)) << text;
  char library[64];
  const auto end = std::to_chars(library, library + sizeof library, value, std::chars_format::scientific).ptr;
  if (value != std::floor(value) || std::abs(value) > 9e15) {  // whole numbers are written out
    ASSERT_EQ(digits(text), digits(std::string(library, end)));
  }
}

TEST(NumberText, PlainFromOneHundredThousandthToTenQuadrillion) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(-0.0), "0");
  EXPECT_EQ(number_text(1), "1");
  EXPECT_EQ(number_text(100000), "100000");
  EXPECT_EQ(number_text(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(number_text(12.5), "12.5");
  EXPECT_EQ(number_text(-0.25), "-0.25");
  EXPECT_EQ(number_text(0.00001), "0.00001");
  EXPECT_EQ(number_text(0.000001), "1e-06");
  EXPECT_EQ(number_text(4.125e-7), "4.125e-07");
  EXPECT_EQ(number_text(9007199254740991), "9007199254740991");
  EXPECT_EQ(number_text(9007199254740992), "9007199254740992");
  EXPECT_EQ(number_text(1e16), "1e+16");
  EXPECT_EQ(number_text(1.5e300), "1.5e+300");
}

TEST(NumberText, NotANumberIsNothing) {
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "");
}

TEST(NumberText, ExtremesReadBack) {
  for (const double value : {5e-324, std::numeric_limits<double>::min(), std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::denorm_min() * 3, 1e22, 1e23, 9.5e-23, 1e-22, 1e54, 1e55}) {
    expect_shortest(value);
  }
}

TEST(NumberText, PowersOfTwoWhoseLowerNeighbourIsCloserAreShortest) {
  for (int exponent = -1074; exponent < 1024; ++exponent) expect_shortest(std::ldexp(1.0, exponent));
}

TEST(NumberText, RandomBitPatternsAreShortest) {
  std::mt19937_64 bits(7);
  for (int i = 0; i < 200'000; ++i) {
    const auto value = std::bit_cast<double>(bits());
    if (std::isfinite(value)) expect_shortest(value);
  }
}

TEST(NumberText, TimesAreShortest) {
  std::mt19937_64 bits(8);
  std::uniform_real_distribution<double> exponent(-9, 7);
  for (int i = 0; i < 500'000; ++i) expect_shortest(std::pow(10.0, exponent(bits)));
  for (int i = 0; i < 200'000; ++i) expect_shortest(static_cast<double>(bits() % 100'000'000) / 1e6);
}

}  // namespace
}  // namespace dooly::results
