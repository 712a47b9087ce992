#include "oracle/platform.hpp"

#include "oracle/batch_shape.hpp"
#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/step_plan.hpp"
#include "tiny_model.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace dooly::oracle {
namespace {

using test::equal_decodes;
constexpr double kMs = 1e-3;

HostTime step_of(const HostTimes& times, const BatchShape& shape, GraphMode mode) {
  HostTime host;
  times.step(shape, mode, host);
  return host;
}

TEST(CudaGraphs, DefaultSizesAndPadding) {
  const std::vector<std::uint32_t> sizes = CudaGraphs::default_sizes(1024, 8192);
  EXPECT_EQ(sizes.size(), 51u);  // 3 + 32 + 16, as the engine lists them
  EXPECT_EQ(sizes.back(), 512u);
  const CudaGraphs graphs(sizes);
  EXPECT_EQ(graphs.padded(1), 1u);
  EXPECT_EQ(graphs.padded(3), 4u);
  EXPECT_EQ(graphs.padded(17), 24u);
  EXPECT_EQ(graphs.padded(257), 272u);
  EXPECT_EQ(graphs.padded(513), 513u);
  EXPECT_EQ(CudaGraphs::default_sizes(16, 8192).back(), 32u);
  EXPECT_THROW(CudaGraphs({0, 4}), OracleError);
}

TEST(CudaGraphs, ModeByCompositionAndTokens) {
  const CudaGraphs graphs(CudaGraphs::default_sizes(1024, 8192));
  EXPECT_EQ(graphs.mode(equal_decodes(512, 9)), GraphMode::kFull);
  EXPECT_EQ(graphs.mode(equal_decodes(513, 9)), GraphMode::kNone);
  std::vector<PrefillChunk> chunks{{100, 0}};
  BatchShape mixed = equal_decodes(5, 9);
  mixed.prefills = chunks;
  mixed.prefill_tokens = 100;
  EXPECT_EQ(graphs.mode(mixed), GraphMode::kPiecewise);
  chunks[0].query = mixed.prefill_tokens = 508;
  EXPECT_EQ(graphs.mode(mixed), GraphMode::kNone);
  chunks[0].query = mixed.prefill_tokens = 1;  // one token each: as decodes
  EXPECT_EQ(graphs.mode(mixed), GraphMode::kFull);
  EXPECT_EQ(CudaGraphs({}).mode(equal_decodes(1, 9)), GraphMode::kNone);  // eager
}

/// Command-R7B: four groups of layers, 32 of them parallel; the plan tells the same as the model.
TEST(Platforms, GroupsOfLayersAndParallelOnesTakeLonger) {
  const ModelConfig& model = find_model("CohereForAI/c4ai-command-r7b-12-2024");
  for (const LayerCounts& layers : {layer_counts(model), layer_counts(make_plan(model, {}))}) {
    EXPECT_EQ(layers.dense, 32u);
    EXPECT_EQ(layers.parallel, 32u);
    EXPECT_EQ(layers.kv_groups, 4u);
    const HostTimes host(find_platform("h200-vm"), layers);
    EXPECT_NEAR(step_of(host, equal_decodes(1, 500), GraphMode::kNone).launch, 34.9 * kMs, 1e-12);
    EXPECT_NEAR(step_of(host, equal_decodes(64, 500), GraphMode::kFull).schedule,
                (0.08 + (0.016 + 3 * 0.0033) * 64) * kMs, 1e-12);
  }
  for (const char* name : {"meta-llama/Llama-3.1-8B", "Qwen/Qwen3-30B-A3B"}) {
    const LayerCounts of_model = layer_counts(find_model(name)),
                      of_plan = layer_counts(make_plan(find_model(name), {}));
    EXPECT_EQ(of_model.kv_groups, 1u);
    EXPECT_EQ(of_plan.kv_groups, 1u);
    EXPECT_EQ(of_model.parallel + of_plan.parallel, 0u);
    EXPECT_EQ(of_model.moe, of_plan.moe);
  }
}

TEST(Platforms, H200VmGivesTheMeasuredMedians) {
  const HostTimes dense(find_platform("h200-vm"), 32, 0);
  const HostTime full = step_of(dense, equal_decodes(32, 500), GraphMode::kFull);
  EXPECT_NEAR(full.schedule, (0.08 + 0.016 * 32) * kMs, 1e-12);
  EXPECT_NEAR(full.update, (0.08 + 0.009 * 32) * kMs, 1e-12);
  const double launch = (1.25 + 0.075 * std::sqrt(32)) * kMs;
  EXPECT_NEAR(full.launch, launch, 1e-12);
  EXPECT_NEAR(full.launch_lead, launch, 1e-12);
  EXPECT_NEAR(full.turn, 0.1 * kMs, 1e-12);
  HostTime first = full;  // behind a prompt
  first.launch_after_prefill();
  EXPECT_NEAR(first.launch, launch + 0.75 * kMs, 1e-12);
  EXPECT_NEAR(first.launch_lead, launch + 0.75 * kMs, 1e-12);
  EXPECT_NEAR(full.delivery, (1.2 + 0.034 * 32) * kMs, 1e-12);
  EXPECT_NEAR(step_of(dense, equal_decodes(1, 500), GraphMode::kFull).delivery, 1.0 * kMs, 1e-12);
  EXPECT_NEAR(step_of(dense, equal_decodes(1, 500), GraphMode::kPiecewise).launch, 10.6 * kMs, 1e-12);
  const HostTime none = step_of(dense, equal_decodes(1, 500), GraphMode::kNone);
  EXPECT_NEAR(none.launch, 30.0 * kMs, 1e-12);
  EXPECT_NEAR(none.launch_lead, 2.5 * kMs, 1e-12);
  EXPECT_EQ(none.after_prefill, 0);
  const HostTimes experts(find_platform("h200-vm"), 0, 48);
  const HostTime one = step_of(experts, equal_decodes(1, 500), GraphMode::kFull);
  EXPECT_NEAR(one.launch, 1.8 * kMs, 1e-12);
  EXPECT_NEAR(one.sample, 0.5066 * kMs, 1e-12);
  EXPECT_NEAR(step_of(experts, equal_decodes(64, 500), GraphMode::kFull).launch, 3.2 * kMs, 1e-12);
  EXPECT_NEAR(step_of(experts, equal_decodes(1, 500), GraphMode::kPiecewise).launch, 15.0 * kMs, 1e-12);
  EXPECT_NEAR(step_of(experts, equal_decodes(1, 500), GraphMode::kNone).launch, 89.9 * kMs, 1e-12);
  EXPECT_NEAR(step_of(experts, equal_decodes(1, 500), GraphMode::kNone).launch_lead, 3.9 * kMs, 1e-12);
}

TEST(Platforms, RequestCostsInputAndHashing) {
  const RequestCost cost = HostTimes(find_platform("h200-vm"), 32, 0).request(2000);
  EXPECT_NEAR(cost.input, (1.05 + 0.12) * kMs, 1e-12);
  EXPECT_NEAR(cost.hashing, 0.56 * kMs, 1e-12);
}

TEST(Platforms, EmptyBatchCostsScheduleAndUpdateOnly) {
  const HostTime host = step_of(HostTimes(find_platform("h200-vm"), 32, 0), BatchShape{}, GraphMode::kFull);
  EXPECT_NEAR(host.schedule, 0.08 * kMs, 1e-12);
  EXPECT_NEAR(host.update, 0.08 * kMs, 1e-12);
  EXPECT_EQ(host.launch + host.launch_lead + host.sample + host.delivery, 0);
}

TEST(Platforms, LeadIsNeverLongerThanTheLaunch) {
  Platform platform;
  set_platform_term(platform, "lead_none", 5);
  set_platform_term(platform, "launch_none", 2);
  EXPECT_EQ(step_of(HostTimes(platform, 1, 0), equal_decodes(1, 1), GraphMode::kNone).launch_lead, 2);
}

TEST(Platforms, NormsOfQueriesAndKeysAreLaunchedToo) {
  const HostTimes host(find_platform("h200-vm"), LayerCounts{36, 0, 36});
  EXPECT_NEAR(step_of(host, equal_decodes(1, 1), GraphMode::kPiecewise).launch, (10.6 * 36 / 32 + 3.35) * kMs, 1e-12);
  EXPECT_NEAR(step_of(host, equal_decodes(1, 1), GraphMode::kNone).launch, (30.0 * 36 / 32 + 1.5) * kMs, 1e-12);
  EXPECT_EQ(step_of(host, equal_decodes(1, 1), GraphMode::kFull).launch,
            step_of(HostTimes(find_platform("h200-vm"), 36, 0), equal_decodes(1, 1), GraphMode::kFull).launch);
}

TEST(Platforms, PromptsTakeTheHostLonger) {
  Platform platform;
  set_platform_term(platform, "schedule_prefill", 1);
  set_platform_term(platform, "sample_prefill", 2);
  set_platform_term(platform, "update_prefill", 4);
  const HostTimes host(platform, 1, 0);
  const std::array chunks{PrefillChunk{16, 0}};
  BatchShape mixed = equal_decodes(3, 10);
  mixed.prefills = chunks;
  mixed.prefill_tokens = 16;
  const HostTime with = step_of(host, mixed, GraphMode::kNone),
                 without = step_of(host, equal_decodes(3, 10), GraphMode::kNone);
  EXPECT_EQ(with.schedule - without.schedule, 1);
  EXPECT_EQ(with.sample - without.sample, 2);
  EXPECT_EQ(with.update - without.update, 4);
}

TEST(Platforms, OneGraphIsLaunchedInTheSameTimeAlways) {
  const HostTimes host(find_platform("h200-vm"), 32, 0);
  EXPECT_EQ(step_of(host, equal_decodes(1, 1), GraphMode::kFull).launch_spread, 0);
  EXPECT_NEAR(step_of(host, equal_decodes(1, 1), GraphMode::kNone).launch_spread, 0.21 * 30.0 * kMs, 1e-12);
}

TEST(LaterOfKernelsAndLaunch, IsTheExpectedMaximum) {
  HostTime host;
  EXPECT_EQ(host.later(3, 5), 5);
  EXPECT_EQ(host.later(7, 5), 7);
  host.launch_spread = 2;
  double before = 0;
  for (double kernels = -10; kernels <= 20; kernels += 0.5) {
    double expected = 0, weights = 0;
    for (double z = -8; z <= 8; z += 1.0 / 256) {
      const double weight = std::exp(-z * z / 2);
      expected += weight * std::max(kernels, 5 + host.launch_spread * z);
      weights += weight;
    }
    const double later = host.later(kernels, 5);
    EXPECT_NEAR(later, expected / weights, 0.1 * host.launch_spread) << kernels;
    EXPECT_GE(later, std::max(kernels, 5.0));
    EXPECT_GE(later, before);
    before = later;
  }
}

TEST(ClockTerms, DriveIsHeldBetweenCoolAndSustained) {
  ClockTerms clock;
  EXPECT_EQ(clock.drive(0.4, 0.9), 0.4);  // nothing said: the share of computing
  clock.power_computing = 2, clock.power_decode_attention = 1, clock.power_free = 0.5;
  EXPECT_DOUBLE_EQ(clock.drive(0.25, 0.5), 0.5);
  EXPECT_EQ(clock.drive(0.1, 0.1), 0);
  EXPECT_EQ(clock.drive(0.9, 0), 1);
}

TEST(ClockTerms, LongStepsWarmTheDeviceTheyRunOn) {
  ClockTerms clock;
  clock.time_constant = 0.1;
  EXPECT_EQ(clock.mean_during(0.5, 0.2, 1), 0.5);  // cooling waits for the step's end
  EXPECT_NEAR(clock.mean_during(0, 1, 1e-4), 0, 1e-3);
  EXPECT_NEAR(clock.mean_during(0, 1, 0.2), 0.5, 1e-12);
  EXPECT_GT(clock.mean_during(0, 1, 100), 0.99);
}

TEST(ClockTerms, RepetitionsWarmAProfile) {
  ClockTerms clock;
  clock.time_constant = 0.1;
  EXPECT_EQ(clock.cool_seconds(3e-3, 0.2), 3e-3);
  clock.profile_repeats = 100;
  EXPECT_DOUBLE_EQ(clock.profile_warmth(1e-3), 0.5);
  EXPECT_DOUBLE_EQ(clock.cool_seconds(1e-3, 0.2), 1e-3 / 1.1);
  double before = 0;  // monotone: a longer kernel stays the longer one
  for (double seconds = 1e-6; seconds < 1; seconds *= 1.3) {
    EXPECT_GT(clock.cool_seconds(seconds, 0.2), before);
    before = clock.cool_seconds(seconds, 0.2);
  }
}

TEST(Platforms, GapsFollowTheLayers) {
  Platform platform;
  set_platform_term(platform, "gaps_none", 4);
  set_platform_term(platform, "gaps_none_per_layer", 0.5);
  set_platform_term(platform, "gaps_none_per_moe_layer", 0.25);
  set_platform_term(platform, "gaps_prefill", 10);
  const HostTimes host(platform, 6, 8);
  EXPECT_DOUBLE_EQ(host.gaps(GraphMode::kNone, false), 4 + 3 + 2);
  EXPECT_DOUBLE_EQ(host.gaps(GraphMode::kNone, true), 4 + 3 + 2 + 10);
  EXPECT_EQ(host.gaps(GraphMode::kFull, false), 0);
}

TEST(Platforms, AProcessorRunsTheProfilersOwnEngine) {
  EXPECT_EQ(default_platform("CPU"), "built-in-engine");
  EXPECT_EQ(default_platform("H200-SXM"), "h200-vm");
  EXPECT_EQ(default_platform("A100-SXM-80GB"), "bare-metal");
}

TEST(Platforms, NoneIsZeroAndBareMetalIsFasterThanTheVm) {
  const Platform none = find_platform("none");
  const Platform metal = find_platform("bare-metal");
  const Platform vm = find_platform("h200-vm");
  for (const PlatformTerm& term : platform_terms()) {
    EXPECT_EQ(platform_term(none, term.key), 0) << term.key;
    EXPECT_LE(platform_term(metal, term.key), platform_term(vm, term.key)) << term.key;
    EXPECT_FALSE(term.meaning.empty());
  }
  for (const ShippedPlatform& shipped : shipped_platforms()) EXPECT_EQ(find_platform(shipped.name).name, shipped.name);
}

TEST(Platforms, TermsAreSetByName) {
  Platform platform;
  for (const PlatformTerm& term : platform_terms()) {
    set_platform_term(platform, term.key, 0.25);
    EXPECT_EQ(platform_term(platform, term.key), 0.25) << term.key;
  }
  EXPECT_THROW(set_platform_term(platform, "launch", 1), OracleError);
  EXPECT_THROW(set_platform_term(platform, "schedule", -1), OracleError);
  EXPECT_THROW(find_platform("fast"), OracleError);
  EXPECT_EQ(default_platform("H200-SXM"), "h200-vm");
  EXPECT_EQ(default_platform("L4"), "bare-metal");
}

}  // namespace
}  // namespace dooly::oracle
