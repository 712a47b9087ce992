#include "oracle_profiled/profiled_oracle.hpp"

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"

#include <gtest/gtest.h>
#include <array>
#include <bit>

namespace dooly::oracle {
namespace {

using test::entry;
using test::sample;

OperatorKey attention(std::uint32_t window) {
  AttentionWork work;
  work.heads = 4, work.kv_heads = 2, work.head_dim = 8, work.window = window;
  return attention_key("bfloat16", "bfloat16", work, "fa3");
}

/// A run's costs are those of its steps, bit for bit.
void expect_equals_steps(const ProfiledOracle& oracle, BatchShape shape, double sustained) {
  std::array<double, 300> device_s{};
  LatencyOracle::DecodeRun run;
  ASSERT_TRUE(oracle.decode_run(shape, device_s, run));
  ASSERT_GE(run.steps, 1u);
  ASSERT_LE(run.steps, 300u);
  for (std::uint32_t i = 0; i < run.steps; ++i) {
    const StepCost step = oracle.cost(shape, {sustained});
    const double seconds = device_s[i] + sustained * run.per_sustained_s;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(seconds), std::bit_cast<std::uint64_t>(step.device.total())) << i;
    EXPECT_EQ(run.host.schedule, step.host.schedule);
    EXPECT_EQ(run.host.delivery, step.host.delivery);
    EXPECT_EQ(run.share.measured * seconds, step.provenance.measured);
    EXPECT_EQ(run.share.interpolated * seconds, step.provenance.interpolated);
    EXPECT_EQ(run.share.extrapolated * seconds, step.provenance.extrapolated);
    EXPECT_EQ(run.share.roofline * seconds, step.provenance.roofline);
    EXPECT_EQ(run.stated_error, step.stated_error);
    EXPECT_EQ(run.compute_share, step.compute_share);
    shape.decode_context_squares += 2 * shape.decode_context + shape.decodes;
    shape.decode_context += shape.decodes;
  }
}

TEST(DecodeRun, OfTheProfiledOracleEqualsItsSteps) {
  test::HandMadeSource source;
  const OperatorKey linear = linear_key({"bfloat16", "bfloat16", "bfloat16"}, 64, 96);
  source.add(linear, {sample({1}, 1e-5), sample({64}, 1.3e-4), sample({512}, 8e-4)});
  for (const std::uint32_t window : {0U, 500U}) {
    std::vector<Sample> attend;
    for (const std::uint64_t n : {1, 7, 33, 300})
      for (const std::uint64_t c : {16, 100, 333, 4096})
        attend.push_back(
            sample({0, 0, 0, n, c}, 5.1e-6 + 1.7e-8 * n * (window > 0 ? std::min<double>(c + 1, window) : c + 1)));
    for (const std::uint64_t n : {4, 8, 16, 32})  // skewed
      attend.push_back(sample({0, 0, 0, n, 10, n / 4, 400}, 3e-5 * n));
    source.add(attention(window), attend);
  }
  StepPlan plan;
  plan.entries = {entry("qkv_proj", linear, Binding::kTokens, 3), entry("full", attention(0), Binding::kAttention, 2),
                  entry("window", attention(500), Binding::kAttention, 5)};
  const std::array<const SampleSource*, 1> sources{&source};
  CompileSettings settings;
  settings.capture_sizes = CudaGraphs::default_sizes(1024, 8192);
  Platform platform = find_platform("h200-vm");
  const ProfiledOracle oracle(plan, sources, test::slow_gpu(), settings, platform);
  for (const std::uint32_t decodes : {1U, 3U, 64U, 257U, 1000U}) {
    for (const std::uint64_t mean : {1U, 250U, 480U, 4000U, 70001U}) {
      BatchShape shape = test::decodes(decodes, mean);
      shape.decode_context += decodes / 2;  // no whole mean
      shape.decode_context_squares = shape.decode_context_squares * 5 / 3;
      for (const double sustained : {0.0, 0.37}) expect_equals_steps(oracle, shape, sustained);
    }
  }
}

TEST(DecodeRun, OfAMixedBatchIsLeftToSteps) {
  const ProfiledOracle oracle({}, {}, test::slow_gpu(), {}, {});
  BatchShape shape = test::decodes(4, 100);
  const std::array chunks{PrefillChunk{5, 0}};
  shape.prefills = chunks;
  shape.prefill_tokens = 5;
  std::array<double, 8> device_s{};
  LatencyOracle::DecodeRun run;
  EXPECT_FALSE(oracle.decode_run(shape, device_s, run));
}

}  // namespace
}  // namespace dooly::oracle
