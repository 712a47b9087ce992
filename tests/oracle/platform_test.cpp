#include "oracle/platform.hpp"

#include "oracle/batch_shape.hpp"
#include "oracle/oracle_error.hpp"
#include "tiny_model.hpp"

#include <gtest/gtest.h>
#include <algorithm>
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

TEST(Platforms, H200VmGivesTheMeasuredMedians) {
  const HostTimes dense(find_platform("h200-vm"), 32, 0);
  const HostTime full = step_of(dense, equal_decodes(32, 500), GraphMode::kFull);
  EXPECT_NEAR(full.schedule, (0.08 + 0.016 * 32) * kMs, 1e-12);
  EXPECT_NEAR(full.update, (0.08 + 0.009 * 32) * kMs, 1e-12);
  EXPECT_NEAR(full.launch, 1.6 * kMs, 1e-12);
  EXPECT_NEAR(full.launch_lead, 1.6 * kMs, 1e-12);
  EXPECT_NEAR(full.delivery, (1.0 + 0.028 * 32) * kMs, 1e-12);
  EXPECT_NEAR(step_of(dense, equal_decodes(1, 500), GraphMode::kFull).delivery, 0.7 * kMs, 1e-12);
  EXPECT_NEAR(step_of(dense, equal_decodes(1, 500), GraphMode::kPiecewise).launch, 10.0 * kMs, 1e-12);
  const HostTime none = step_of(dense, equal_decodes(1, 500), GraphMode::kNone);
  EXPECT_NEAR(none.launch, 29.5 * kMs, 1e-12);
  EXPECT_NEAR(none.launch_lead, 2.5 * kMs, 1e-12);
  const HostTimes experts(find_platform("h200-vm"), 0, 48);
  EXPECT_NEAR(step_of(experts, equal_decodes(1, 500), GraphMode::kFull).launch, 3.1 * kMs, 1e-12);
  EXPECT_NEAR(step_of(experts, equal_decodes(1, 500), GraphMode::kPiecewise).launch, 15.0 * kMs, 1e-12);
  EXPECT_NEAR(step_of(experts, equal_decodes(1, 500), GraphMode::kNone).launch, 89.9 * kMs, 1e-12);
  EXPECT_NEAR(step_of(experts, equal_decodes(1, 500), GraphMode::kNone).launch_lead, 7.7 * kMs, 1e-12);
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

TEST(Platforms, GapsFollowTheLayers) {
  Platform platform;
  set_platform_term(platform, "gaps_none", 4);
  set_platform_term(platform, "gaps_none_per_layer", 0.5);
  set_platform_term(platform, "gaps_none_per_moe_layer", 0.25);
  const HostTimes host(platform, 6, 8);
  EXPECT_DOUBLE_EQ(host.gaps(GraphMode::kNone), 4 + 3 + 2);
  EXPECT_EQ(host.gaps(GraphMode::kFull), 0);
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
