#include "oracle_profiled/measurement_error.hpp"

#include "oracle_profiled/attention_model.hpp"
#include "oracle_profiled/work_curve.hpp"

#include <gtest/gtest.h>

namespace dooly::oracle {
namespace {

Sample told(double median_s, double std_s, std::uint32_t count, double processes = 0) {
  Sample made;
  made.regime = ClockRegime::kCool;
  made.median_s = made.mean_s = median_s;
  made.std_s = std_s;
  made.count = count;
  made.processes = processes;
  return made;
}

Sample decodes_of(std::uint64_t n, std::uint64_t context, double median_s) {
  Sample made = told(median_s, 0.04 * median_s, 16);
  made.point = {0, 0, 0, n, context};
  return made;
}

TEST(MeasurementError, IsTheSpreadOfTheMeanAndThatOfMeasuringAgain) {
  // 2 x 2 us / sqrt 16 of 100 us is 1 %; sqrt(1^2 + 1.25^2) = 1.6008.
  EXPECT_NEAR(measurement_error(told(1e-4, 2e-6, 16)), 0.016008, 1e-6);
}

TEST(MeasurementError, CountsProcessesWhereSeveralMeasured) {
  // 2 x 0.04 us / sqrt 4 of 2 us is 2 %; sqrt(2^2 + 1.25^2) = 2.3585.
  EXPECT_NEAR(measurement_error(told(2e-6, 4e-8, 20, 4)), 0.023585, 1e-6);
}

TEST(MeasurementError, OfAShortPointOfOneProcessHoldsTheOtherTimeItsKernelMayTake) {
  // Half of 0.25 us of 2.5 us is 5 %; sqrt(5^2 + 1.25^2 + (2 x 0.005 us / sqrt 4 = 0.2 %)^2) = 5.1578.
  EXPECT_NEAR(measurement_error(told(2.5e-6, 5e-9, 4)), 0.051578, 1e-6);
  EXPECT_LT(measurement_error(told(5.1e-6, 5e-9, 4)), 0.02) << "no short one";
}

TEST(MeasurementError, OfATableThatTellsNoSpreadIsNotZero) {
  EXPECT_DOUBLE_EQ(measurement_error(told(1e-4, 0, 0)), kUntoldError);
  EXPECT_DOUBLE_EQ(measurement_error(told(1e-4, 0, 1)), kUntoldError);
}

TEST(MeasurementError, IsStatedAtAMeasuredPointOfACurve) {
  const WorkCurve curve({{1, 1e-5, 0, 0.02}, {8, 2e-5, 0, 0.04}}, {});
  EXPECT_EQ(curve.at(8).origin, Origin::kMeasured);
  EXPECT_DOUBLE_EQ(curve.at(8).error, 0.04);
  const WorkCurve repeated({{8, 2e-5, 0, 0.02}, {8, 2e-5, 0, 0.04}}, {});
  EXPECT_DOUBLE_EQ(repeated.at(8).error, 0.03);
}

TEST(MeasurementError, BetweenTwoPointsThatNothingChecksIsThatOfAGuess) {
  RowWork work;
  work.memory_per_row = 1e-6;
  const WorkCurve curve({{1, 1e-5, 0, 0.02}, {9, 9e-5, 0, 0.04}}, work);
  EXPECT_EQ(curve.at(5).origin, Origin::kInterpolated);
  EXPECT_DOUBLE_EQ(curve.at(5).error, kExtrapolationError);
  // Three on a line leave out nothing that is missed: the points' own mean is what is left.
  const WorkCurve line({{1, 1e-5, 0, 0.02}, {5, 5e-5, 0, 0.03}, {9, 9e-5, 0, 0.04}}, work);
  EXPECT_NEAR(line.fold_error(), 0, 1e-12);
  EXPECT_DOUBLE_EQ(line.at(3).error, 0.03);
}

TEST(MeasurementError, IsStatedAtAMeasuredPointOfAttention) {
  std::vector<Sample> samples;
  for (const std::uint64_t n : {1, 8, 64})
    for (const std::uint64_t c : {16, 256, 4096}) samples.push_back(decodes_of(n, c, 5e-6 + 1e-8 * n * (c + 1)));
  for (const std::uint64_t q : {16, 128, 512}) {
    samples.push_back(told(6e-6 + 1e-9 * q * (q + 1) / 2, 0.04 * (6e-6 + 1e-9 * q * (q + 1) / 2), 16));
    samples.back().point = {1, q, 0};
  }
  AttentionRoofline work;
  work.pair_s = 1e-9, work.token_s = 1e-9, work.kernel_s = 1e-6;
  const AttentionModel model(samples, work, {});
  BatchShape decodes;
  decodes.decodes = 8, decodes.decode_context = 8 * 256, decodes.decode_context_squares = 8 * 256 * 256;
  const AttentionModel::Result decode = model.at(decodes, {});
  EXPECT_EQ(decode.origin, Origin::kMeasured);
  // 2 x 4 % / sqrt 16 = 2 %; sqrt(2^2 + 1.25^2) = 2.3585.
  EXPECT_NEAR(decode.error, 0.023585, 1e-6);
  const std::array chunks{PrefillChunk{128, 0}};
  BatchShape prompt;
  prompt.prefills = chunks;
  prompt.prefill_tokens = 128;
  const AttentionModel::Result prefill = model.at(prompt, ChunkSums::of(prompt));
  EXPECT_EQ(prefill.origin, Origin::kMeasured);
  EXPECT_NEAR(prefill.error, 0.023585, 1e-6);
  BatchShape both = decodes;
  both.prefills = chunks;
  both.prefill_tokens = 128;
  EXPECT_GE(model.at(both, ChunkSums::of(both)).error, kExtrapolationError) << "a sum that nobody measured";
}

}  // namespace
}  // namespace dooly::oracle
