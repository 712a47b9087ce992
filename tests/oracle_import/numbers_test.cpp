#include "numbers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dooly::import_ {
namespace {

TEST(ScaledNumber, IsRoundedOnce) {
  EXPECT_EQ(*scaled_number("12.3", kMicroseconds), 12.3e-6);
  EXPECT_EQ(*scaled_number("0.0055", kMilliseconds), 0.0055e-3);
  EXPECT_EQ(*scaled_number("4.336808689942018e-19", kMilliseconds), 4.336808689942018e-22);
  EXPECT_EQ(*scaled_number(" +7 ", kNanoseconds), 7e-9);
  EXPECT_TRUE(std::isnan(*scaled_number("nan", kMilliseconds)));
}

TEST(ScaledNumber, TakesTheWholeTextOrNothing) {
  for (const char* text : {"", "-", "1.2.3", "12ms", "1e", "e5", "0x10", "1 2"})
    EXPECT_FALSE(scaled_number(text, kMilliseconds)) << text;
}

TEST(WholeNumber, TakesWholeDecimalsToo) {
  EXPECT_EQ(whole_number("16.0"), 16u);
  EXPECT_EQ(whole_number("1e3"), 1000u);
  for (const char* text : {"", "-1", "1.5", "1e300", "nan", "many"}) EXPECT_FALSE(whole_number(text)) << text;
}

TEST(ScaledText, ReadsBackAsTheSameDouble) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const double value =
        std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 90) - 70);
    for (const int unit : {kMilliseconds, kMicroseconds, kNanoseconds}) {
      const std::string text = scaled_text(value, unit);
      ASSERT_EQ(*scaled_number(text, unit), value) << text;
    }
  }
  EXPECT_EQ(scaled_text(12.3e-6, kMicroseconds), "12.3");
  EXPECT_EQ(scaled_text(5e-9, kMicroseconds), "0.005");
  EXPECT_EQ(scaled_text(0, kMicroseconds), "0");
}

}  // namespace
}  // namespace dooly::import_
