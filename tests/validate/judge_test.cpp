#include "validate/outcome.hpp"

#include <gtest/gtest.h>

namespace dooly::validate {
namespace {

Comparison ten_percent_low() {
  Comparison comparison;
  comparison.of("requests.ttft").add(10, 9);
  comparison.of("requests.tpot");
  Tally& tally = comparison.tally("decisions.batches");
  tally.compared = 100;
  tally.different = 2;
  return comparison;
}

Judgement::Verdict verdict(const Bound& bound) { return judge({&bound, 1}, ten_percent_low()).at(0).verdict; }

TEST(Judge, ABoundHoldsOnBothSides) {
  EXPECT_EQ(verdict({.series = "requests.ttft", .error = "mean", .limit = 0.101, .where = ""}),
            Judgement::Verdict::kMet);
  EXPECT_EQ(verdict({.series = "requests.ttft", .error = "mean", .limit = 0.099, .where = ""}),
            Judgement::Verdict::kMissed);
}

TEST(Judge, DifferencesAreCounted) {
  EXPECT_EQ(verdict({.series = "decisions.batches", .error = "differences", .limit = 2, .where = ""}),
            Judgement::Verdict::kMet);
  EXPECT_EQ(verdict({.series = "decisions.batches", .error = "differences", .limit = 1, .where = ""}),
            Judgement::Verdict::kMissed);
}

TEST(Judge, NothingComparedMeetsNoBound) {
  EXPECT_EQ(verdict({.series = "requests.tpot", .error = "mean", .limit = 1, .where = ""}),
            Judgement::Verdict::kMissed);
}

TEST(Judge, ABoundMayAskForEnoughPairs) {
  EXPECT_EQ(verdict({.series = "requests.ttft", .error = "mean", .limit = 0, .pairs = 2, .where = ""}),
            Judgement::Verdict::kNotJudged);
}

TEST(Judge, ABoundOfNothingNamesWhatThereIs) {
  const Bound bound{.series = "requests.tftt", .error = "mean", .limit = 1, .where = "x.yaml:9:3"};
  try {
    judge({&bound, 1}, ten_percent_low());
    FAIL() << "accepted";
  } catch (const ValidationError& error) {
    EXPECT_STREQ(error.what(),
                 "x.yaml:9:3: bounds.requests.tftt: nothing of that name was compared; there is requests.ttft, "
                 "requests.tpot, decisions.batches");
  }
}

}  // namespace
}  // namespace dooly::validate
