#include "schedulers/option_check.hpp"

#include <gtest/gtest.h>

namespace dooly::schedulers {
namespace {

using sdk::OptionType;

constexpr sdk::OptionSpec kSchema[] = {
    {.name = "alpha", .type = OptionType::kNumber, .fallback = "0.5", .min = 0, .max = 1, .help = "weight"},
    {.name = "depth", .type = OptionType::kInteger, .fallback = "", .min = 1},
    {.name = "eager", .type = OptionType::kBoolean, .fallback = "false"},
    {.name = "order", .type = OptionType::kText, .fallback = "fcfs", .allowed = "fcfs|priority"}};

TEST(CheckOptions, ValuesWithinTheSchemaPass) {
  EXPECT_TRUE(
      check_options(kSchema, {{"alpha", "1"}, {"depth", "3"}, {"eager", "true"}, {"order", "priority"}}).empty());
}

TEST(CheckOptions, EveryProblemComesAtOnce) {
  const auto problems =
      check_options(kSchema, {{"alpah", "0.3"}, {"alpha", "1.5"}, {"eager", "yes"}, {"order", "prioritz"}});
  const std::vector<OptionProblem> expected = {
      {"alpah", "unknown option, did you mean 'alpha'; allowed: alpha, depth, eager, order"},
      {"alpha", "must be at most 1, got 1.5"},
      {"eager", "must be true or false, got yes"},
      {"order", "unknown value, did you mean 'priority', got prioritz; allowed: fcfs, priority"},
      {"depth", "is required (depth: integer, at least 1, required)"}};
  ASSERT_EQ(problems.size(), expected.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    EXPECT_EQ(problems[i].option, expected[i].option);
    EXPECT_EQ(problems[i].what, expected[i].what);
  }
}

TEST(CheckOptions, NumbersAreWholeTextsAndFinite) {
  for (const char* text : {"", "abc", "1x", "nan", "inf", "-inf", "1,5", "0x10", " 1"}) {
    EXPECT_EQ(check_options(kSchema, {{"depth", "1"}, {"alpha", text}}).size(), 1U) << text;
  }
  for (const char* text : {"", "1.5", "1e3", "99999999999999999999", "0"}) {
    EXPECT_EQ(check_options(kSchema, {{"depth", text}}).size(), 1U) << text;
  }
}

TEST(CheckOptions, AComponentWithoutOptionsSaysSo) {
  const auto problems = check_options({}, {{"alpha", "1"}});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].what, "unknown option; there are none");
}

TEST(CompleteOptions, DefaultsFillWhatWasNotGiven) {
  const sdk::Options options = complete_options(kSchema, {{"depth", "7"}, {"alpha", "0.25"}});
  EXPECT_EQ(options.integer("depth"), 7);
  EXPECT_EQ(options.number("alpha"), 0.25);
  EXPECT_FALSE(options.boolean("eager"));
  EXPECT_EQ(options.text("order"), "fcfs");
  EXPECT_THROW(options.text("beta"), std::out_of_range);
  EXPECT_THROW(options.number("order"), std::invalid_argument);
}

TEST(DescribeOption, OneLineSaysTypeRangeDefaultAndMeaning) {
  EXPECT_EQ(describe(kSchema[0]), "alpha: number, at least 0, at most 1, default 0.5: weight");
  EXPECT_EQ(describe(kSchema[3]), "order: text, one of fcfs, priority, default fcfs");
}

}  // namespace
}  // namespace dooly::schedulers
