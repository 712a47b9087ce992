#include "quantity.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dooly::scenario {
namespace {

double time(std::string_view text) { return parse_quantity(text, Dimension::kTime).value.value_or(-1); }

TEST(Quantity, EveryUnitOfTime) {
  EXPECT_EQ(time("20us"), 0.00002);
  EXPECT_EQ(time("500ms"), 0.5);
  EXPECT_EQ(time("1.5s"), 1.5);
  EXPECT_EQ(time("2m"), 120);
  EXPECT_EQ(time("2h"), 7200);
  EXPECT_EQ(time("30d"), 2592000);
  EXPECT_EQ(time("3 s"), 3);
}

TEST(Quantity, RatesAndBandwidths) {
  EXPECT_EQ(parse_quantity("20/s", Dimension::kRate).value, 20);
  EXPECT_EQ(parse_quantity("90/min", Dimension::kRate).value, 1.5);
  EXPECT_EQ(parse_quantity("400Gbps", Dimension::kBandwidth).value, 50e9);
  EXPECT_EQ(parse_quantity("450GB/s", Dimension::kBandwidth).value, 450e9);
}

TEST(Quantity, ABareNumberLacksItsUnit) {
  EXPECT_TRUE(parse_quantity("20", Dimension::kTime).lacks_unit);
  EXPECT_FALSE(parse_quantity("20", Dimension::kTime).value);
}

TEST(Quantity, WhatIsNoQuantity) {
  for (const char* text :
       {"", "s", "ms5", "5  s", "5S", "5sec", "0x5s", "nans", "infs", "+5s", ".5s", "5.s", "1e400s", "5s5s", "--5s"}) {
    EXPECT_FALSE(parse_quantity(text, Dimension::kTime).value) << text;
    EXPECT_FALSE(parse_quantity(text, Dimension::kTime).lacks_unit) << text;
  }
}

TEST(Quantity, WholeNumbersAreDecimal) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", "-", "007", "0x10", "0o17", "1e3", "1_000", "+1", "1.0", " 1", "9223372036854775808"})
    EXPECT_FALSE(parse_integer(text)) << text;
}

TEST(Quantity, PrintedTextParsesBackExactly) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 100) - 90);
    for (const Dimension dimension : {Dimension::kTime, Dimension::kRate, Dimension::kBandwidth})
      ASSERT_EQ(parse_quantity(print_quantity(value, dimension), dimension).value, value) << value;
    ASSERT_EQ(parse_number(print_number(value)), value);
  }
}

TEST(Quantity, PrintsWhatPeopleWrite) {
  EXPECT_EQ(print_quantity(0.5, Dimension::kTime), "500ms");
  EXPECT_EQ(print_quantity(2e-6, Dimension::kTime), "2us");
  EXPECT_EQ(print_quantity(600, Dimension::kTime), "600s");
  EXPECT_EQ(print_quantity(20, Dimension::kRate), "20/s");
  EXPECT_EQ(print_quantity(450e9, Dimension::kBandwidth), "450GB/s");
  EXPECT_EQ(print_number(1e6), "1000000");
}

}  // namespace
}  // namespace dooly::scenario
