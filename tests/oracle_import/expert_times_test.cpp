#include "expert_times.hpp"

#include "environments.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle_import/import_profile.hpp"
#include "profile_folder.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dooly::import_ {
namespace {

oracle::Sample measured(const oracle::SamplePoint& point, double us) {
  oracle::Sample sample;
  sample.point = point;
  sample.median_s = us * 1e-6;
  return sample;
}

/// Reads one of four experts in 10 us and computes a token in 1.
ExpertTimes four_experts() {
  const oracle::OperatorKey key = oracle::moe_experts_key(
      "bfloat16", "bfloat16", {.hidden = 1000, .intermediate = 1000, .local_experts = 4, .top_k = 1});
  oracle::Gpu gpu;
  gpu.memory_bandwidth = 6e6 / 10e-6 / 0.8;
  gpu.flops_16 = 6e6 / 1e-6 / 0.7;
  gpu.has_bfloat16 = true;
  return {key, {measured({1}, 12), measured({4}, 45), measured({8}, 49), measured({8, 0, 1}, 39)}, gpu};
}

TEST(ExpertTimes, OfBalancedTokensAreTheSamples) {
  const ExpertTimes times = four_experts();
  EXPECT_EQ(times.points(), 3u);
  EXPECT_EQ(times.most_tokens(), 8u);
  EXPECT_NEAR(times.seconds(1, 1), 12e-6, 1e-12);
  EXPECT_NEAR(times.seconds(4, 4), 45e-6, 1e-12);
  EXPECT_NEAR(times.seconds(8, 4), 49e-6, 1e-12);
}

TEST(ExpertTimes, BetweenSamplesFollowTheExpertsThatAreRead) {
  // Two tokens: 2 + 2 x 10 + 2 of work, which is 13 for one and 46 for four.
  EXPECT_NEAR(four_experts().seconds(2, 2), (12 + 33 * 11.0 / 33) * 1e-6, 1e-12);
}

TEST(ExpertTimes, OfFewExpertsAreThoseOfOneTokenAndComputing) {
  EXPECT_NEAR(four_experts().seconds(8, 1), (12 + 7) * 1e-6, 1e-12);
  EXPECT_NEAR(four_experts().seconds(8, 2), (19 + 30 / 3.0) * 1e-6, 1e-12);
}

TEST(ExpertTimes, AreNeverLessThanFewerTokensTakeWithTheSameExperts) {
  const ExpertTimes times = four_experts();
  for (const std::uint64_t experts : {1u, 2u, 3u, 4u})
    for (std::uint64_t tokens = experts; tokens < 8; ++tokens)
      EXPECT_GE(times.seconds(tokens + 1, experts), times.seconds(tokens, experts)) << tokens << " " << experts;
}

TEST(ExpertTimes, OfARealTableComeFromItsBalancedRows) {
  const auto path = dooly::test::data_path("data/profiles/llmservingsim/RTXPRO6000/Qwen--Qwen3-30B-A3B-Instruct-2507");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  test::MemorySamples table;
  import_profile("llmservingsim", path, {}, table);
  const oracle::OperatorKey key = oracle::moe_experts_key(
      "bfloat16", "bfloat16", {.hidden = 2048, .intermediate = 768, .local_experts = 128, .top_k = 8});
  std::vector<oracle::Sample> balanced, others;
  for (oracle::Sample sample : table.samples(signature_of(key))) {
    const bool is_balanced = sample.point[1] == std::min<std::uint64_t>(128, 8 * sample.point[0]);
    (is_balanced ? balanced : others).push_back(sample);
    if (is_balanced) balanced.back().point[1] = 0;
  }
  ASSERT_EQ(others.size(), 38u);
  const ExpertTimes times(key, balanced, *known_gpu("RTX-PRO-6000"));
  double sum = 0;
  for (const oracle::Sample& sample : others)
    sum += std::abs(times.seconds(sample.point[0], sample.point[1]) / sample.median_s - 1);
  EXPECT_LT(sum / 38, 0.06);  // 5.8 % when this was written
}

}  // namespace
}  // namespace dooly::import_
