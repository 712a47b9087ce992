#include "oracle_profiled/attention_model.hpp"
#include "oracle_profiled/measurement_error.hpp"

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <random>

namespace dooly::oracle {
namespace {

using test::decodes;
using test::sample;

AttentionRoofline full() {
  AttentionRoofline work;
  work.pair_s = 1e-9;
  work.token_s = 1e-8;
  work.kernel_s = 1e-6;
  return work;
}

constexpr AttentionModel::Limits kLimits{64, 100000};

/// 2 µs + 1 µs a sequence + 10 ns a token.
double decode_law(double n, double context) { return 2e-6 + 1e-6 * n + 1e-8 * n * (context + 1); }
/// 3 µs + 2 ns a query token + 0.5 ns a pair.
double prefill_law(double b, double q, double c) { return 3e-6 + 2e-9 * b * q + 5e-10 * b * q * (c + (q + 1) / 2); }

std::vector<Sample> lawful() {
  std::vector<Sample> samples;
  for (const std::uint64_t n : {1, 2, 8, 32})
    for (const std::uint64_t c : {15, 127, 1023, 8191}) samples.push_back(sample({0, 0, 0, n, c}, decode_law(n, c)));
  for (const std::uint64_t b : {1, 2, 8})
    for (const std::uint64_t q : {16, 128, 1024}) samples.push_back(sample({b, q, 0}, prefill_law(b, q, 0)));
  for (const std::uint64_t c : {256, 4096})
    for (const std::uint64_t q : {16, 128, 1024}) samples.push_back(sample({1, q, c}, prefill_law(1, q, c)));
  return samples;
}

AttentionModel::Result ask(const AttentionModel& model, BatchShape shape,
                           const std::vector<PrefillChunk>& chunks = {}) {
  shape.prefills = chunks;
  for (const PrefillChunk& chunk : chunks) shape.prefill_tokens += chunk.query;
  return model.at(shape, ChunkSums::of(shape));
}

TEST(AttentionRoofline, CountsFlopsAndBytesOfTheKey) {
  AttentionWork shape;
  shape.heads = 4, shape.kv_heads = 2, shape.head_dim = 8, shape.window = 100;
  const AttentionRoofline work =
      attention_roofline(attention_key("bfloat16", "bfloat16", shape, "fa3"), test::slow_gpu(), test::ideal());
  EXPECT_DOUBLE_EQ(work.pair_s, 4 * 4 * 8 / 1e9);
  EXPECT_DOUBLE_EQ(work.token_s, 2 * 2 * 8 * 2 / 1e9);
  EXPECT_DOUBLE_EQ(work.attended(500), 100);
  EXPECT_DOUBLE_EQ(work.attended(50), 51);
  EXPECT_DOUBLE_EQ(work.pairs(3, 0), 6);
  EXPECT_DOUBLE_EQ(work.pairs(10, 1000), 1000);
  EXPECT_DOUBLE_EQ(work.kv_tokens(10, 1000), 109);
}

TEST(AttentionModel, AnswersMeasuredDecodesAsMeasured) {
  const AttentionModel model(lawful(), full(), kLimits);
  const auto result = ask(model, decodes(8, 1023));
  EXPECT_NEAR(result.seconds, decode_law(8, 1023), 1e-12);
  EXPECT_EQ(result.origin, Origin::kMeasured);
}

TEST(AttentionModel, FollowsTheWorkBetweenDecodes) {
  const AttentionModel model(lawful(), full(), kLimits);
  const auto result = ask(model, decodes(20, 3000));
  EXPECT_NEAR(result.seconds / decode_law(20, 3000), 1, 1e-6);
  EXPECT_EQ(result.origin, Origin::kInterpolated);
  EXPECT_GE(result.error, kUntoldError);  // the law leaves nothing to be missed, but its samples tell no spread
  EXPECT_LT(result.error, 0.035);
}

TEST(AttentionModel, ExtrapolatesDecodesAlongTheWork) {
  const AttentionModel model(lawful(), full(), kLimits);
  const auto result = ask(model, decodes(64, 60000));
  EXPECT_NEAR(result.seconds / decode_law(64, 60000), 1, 1e-6);
  EXPECT_EQ(result.origin, Origin::kExtrapolated);
  EXPECT_GT(result.error, 0.1);
}

TEST(AttentionModel, FollowsTheWorkOfPrefills) {
  const AttentionModel model(lawful(), full(), kLimits);
  EXPECT_NEAR(ask(model, {}, {{128, 0}, {128, 0}}).seconds, prefill_law(2, 128, 0), 1e-12);
  EXPECT_EQ(ask(model, {}, {{128, 0}, {128, 0}}).origin, Origin::kMeasured);
  EXPECT_NEAR(ask(model, {}, {{500, 0}}).seconds / prefill_law(1, 500, 0), 1, 1e-6);
  EXPECT_NEAR(ask(model, {}, {{500, 3000}}).seconds / prefill_law(1, 500, 3000), 1, 1e-6);
  // Ragged: the sums of query tokens and of pairs are the batch's own.
  const double pairs = 100 * 50.5 + 900 * 450.5;
  EXPECT_NEAR(ask(model, {}, {{100, 0}, {900, 0}}).seconds / (3e-6 + 2e-9 * 1000 + 5e-10 * pairs), 1, 1e-6);
}

TEST(AttentionModel, MixedWithoutSamplesIsTheSum) {
  const AttentionModel model(lawful(), full(), kLimits);
  const auto result = ask(model, decodes(8, 1023), {{128, 0}});
  EXPECT_NEAR(result.seconds, decode_law(8, 1023) + prefill_law(1, 128, 0), 1e-12);
  EXPECT_EQ(result.origin, Origin::kInterpolated);
}

TEST(AttentionModel, MixedSamplesGiveTheWeightsAndResiduals) {
  std::vector<Sample> samples = lawful();
  for (const std::uint64_t q : {16, 1024})
    for (const std::uint64_t c : {0, 4096})
      for (const std::uint64_t n : {1, 32})
        for (const std::uint64_t d : {127, 8191})
          samples.push_back(sample({1, q, c, n, d}, 1.5 * (decode_law(n, d) + prefill_law(1, q, c))));
  const AttentionModel model(samples, full(), kLimits);
  const double both = decode_law(8, 1023) + prefill_law(1, 128, 256);
  EXPECT_NEAR(ask(model, decodes(8, 1023), {{128, 256}}).seconds / both, 1.5, 1e-4);
}

TEST(AttentionModel, SkewCostsWhatTwoContextSamplesSay) {
  std::vector<Sample> samples = lawful();
  // A quarter at 4,000, the rest at 400: mean 1,300, deviation 900 √3; or at 2,000 and 1,000: 1,250 and 250 √3. They
  // cost 0.4 of the coefficient of variation at 8 sequences, 0.2 at 32. As many long ones as others are another matter.
  const double wide = 900 * std::sqrt(3) / 1301, narrow = 250 * std::sqrt(3) / 1251;
  for (const std::uint64_t n : {8, 32}) {
    const double slope = n == 8 ? 0.4 : 0.2;
    samples.push_back(sample({0, 0, 0, n, 400, n / 4, 4000}, decode_law(n, 1300) * (1 + slope * wide)));
    samples.push_back(sample({0, 0, 0, n, 1000, n / 4, 2000}, decode_law(n, 1250) * (1 + slope * narrow)));
    samples.push_back(sample({0, 0, 0, n, 100, n / 2, 4000}, decode_law(n, 2050)));
  }
  const AttentionModel model(samples, full(), kLimits);
  for (const std::uint32_t n : {4u, 8u, 20u, 32u, 64u}) {
    const double slope = n <= 8 ? 0.4 : n == 20 ? 0.3 : 0.2;
    BatchShape shape = decodes(n, 1300);
    const double even = ask(model, shape).seconds;
    shape.decode_context_squares = n / 4 * (3 * 400 * 400 + 4000 * 4000);
    EXPECT_NEAR(ask(model, shape).seconds / even, 1 + slope * wide, 2e-3) << n;
    EXPECT_DOUBLE_EQ(ask(model, shape).seconds, model.decode_seconds(shape)) << n;
  }
}

TEST(AttentionModel, SkewBesideChunksIsItsOwn) {
  std::vector<Sample> samples = lawful();
  for (const std::uint64_t q : {16, 128, 1024})
    for (const std::uint64_t n : {8, 32})
      for (const std::uint64_t c : {15, 127, 1023, 8191})
        samples.push_back(sample({1, q, 0, n, c}, prefill_law(1, q, 0) + decode_law(n, c)));
  const double cv = 900 * std::sqrt(3) / 1301;
  for (const std::uint64_t n : {8, 32})
    for (const std::uint64_t q : {16, 1024})
      samples.push_back(
          sample({1, q, 0, n, 400, n / 4, 4000}, prefill_law(1, q, 0) + decode_law(n, 1300) * (1 + 0.5 * cv)));
  const AttentionModel model(samples, full(), kLimits);
  BatchShape shape = decodes(16, 1300);
  const double even = ask(model, shape, {{128, 0}}).seconds;
  const double alone = ask(model, shape).seconds;
  shape.decode_context_squares = 4 * (3 * 400 * 400 + 4000 * 4000);
  EXPECT_NEAR(ask(model, shape, {{128, 0}}).seconds, even + alone * 0.5 * cv, even * 2e-3);
  EXPECT_DOUBLE_EQ(ask(model, shape).seconds, alone);  // nothing was measured of decodes alone
}

TEST(AttentionModel, ChunksOfOneTokenAreDecodes) {
  const AttentionModel model(lawful(), full(), kLimits);
  EXPECT_DOUBLE_EQ(ask(model, decodes(7, 1023), {{1, 1023}}).seconds, ask(model, decodes(8, 1023)).seconds);
  EXPECT_DOUBLE_EQ(ask(model, decodes(7, 1023), {{128, 0}, {1, 1023}}).seconds,
                   ask(model, decodes(8, 1023), {{128, 0}}).seconds);
}

TEST(AttentionModel, WindowsEndTheGrowth) {
  AttentionRoofline work = full();
  work.kind = AttentionKind::kSlidingWindow;
  work.window = 1024;
  std::vector<Sample> samples;
  for (const std::uint64_t n : {1, 4, 16})
    for (const std::uint64_t c : {15, 511, 1023, 4095})
      samples.push_back(sample({0, 0, 0, n, c}, decode_law(n, std::min<double>(c, 1023))));
  const AttentionModel model(samples, work, kLimits);
  EXPECT_NEAR(ask(model, decodes(4, 3000)).seconds, decode_law(4, 1023), 1e-12);
  EXPECT_NEAR(ask(model, decodes(4, 300)).seconds, decode_law(4, 300), 1e-9);
}

TEST(AttentionModel, OfOneSampleAnswersEverywhere) {
  const AttentionModel model({sample({0, 0, 0, 4, 999}, 1e-3)}, full(), kLimits);
  EXPECT_NEAR(ask(model, decodes(4, 999)).seconds, 1e-3, 1e-15);
  EXPECT_EQ(ask(model, decodes(4, 999)).origin, Origin::kMeasured);
  const auto far = ask(model, decodes(32, 5000));
  EXPECT_GT(far.seconds, 1e-3);
  EXPECT_EQ(far.origin, Origin::kExtrapolated);
  EXPECT_GE(far.error, kOnePointError);
  EXPECT_EQ(ask(model, {}, {{64, 0}}).origin, Origin::kRoofline);
  const AttentionModel none({}, full(), kLimits);
  EXPECT_EQ(ask(none, decodes(4, 999)).origin, Origin::kRoofline);
  EXPECT_DOUBLE_EQ(ask(none, decodes(4, 999)).seconds, 1e-6 + 4 * 1000 * 1e-8);
}

TEST(AttentionModel, DecodesAreMonotonePositiveAndContinuous) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> noise(0.6, 1.6);
  for (int round = 0; round < 20; ++round) {
    std::vector<Sample> samples;
    for (const std::uint64_t n : {1, 3, 9, 40})
      for (const std::uint64_t c : {10, 300, 5000})
        if (round % 4 != 0 || (n + c) % 3 != 0)
          samples.push_back(sample({0, 0, 0, n, c}, decode_law(n, c) * noise(random)));
    const AttentionModel model(samples, full(), kLimits);
    for (const std::uint32_t n : {1U, 2U, 5U, 20U, 50U, 64U}) {
      double before = 0;
      for (std::uint64_t c = 0; c < 20000; c += 37) {
        const double seconds = model.decode_seconds(decodes(n, c));
        EXPECT_GT(seconds, 0);
        EXPECT_GE(seconds, before * (1 - 1e-12));
        EXPECT_GE(model.decode_seconds(decodes(n + 1, c)), seconds * (1 - 1e-12));
        before = seconds;
      }
      for (const std::uint64_t c : {10, 300, 5000})  // no jump at a node: one token more is one slope more
        EXPECT_LT(model.decode_seconds(decodes(n, c)) - model.decode_seconds(decodes(n, c - 1)),
                  0.2 * model.decode_seconds(decodes(n, c)));
    }
  }
}

}  // namespace
}  // namespace dooly::oracle
