#include "oracle_profiled/fit_figures.hpp"
#include "oracle_profiled/measurement_error.hpp"
#include "oracle_profiled/profiled_oracle.hpp"

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/oracle_error.hpp"

#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <random>

namespace dooly::oracle {
namespace {

using test::decodes;
using test::entry;
using test::sample;

const LinearTypes kTypes{"bfloat16", "bfloat16", "bfloat16"};

OperatorKey attention() {
  AttentionWork work;
  work.heads = 4, work.kv_heads = 2, work.head_dim = 8;
  return attention_key("bfloat16", "bfloat16", work, "fa3");
}

/// Two linears (one measured), attention, an all-reduce, an output head.
StepPlan small_plan() {
  StepPlan plan;
  plan.tensor_parallel = 2;
  plan.dense_layers = 3;
  plan.entries = {
      entry("qkv_proj", linear_key(kTypes, 64, 96), Binding::kTokens, 3),
      entry("attention", attention(), Binding::kAttention, 3),
      entry("all_reduce", collective_key("all_reduce", "bfloat16", 2, "vllm-custom"), Binding::kCollective, 6),
      entry("lm_head", linear_key(kTypes, 64, 1000), Binding::kLogitsRows)};
  plan.entries[2].bytes_per_token = 128;
  return plan;
}

test::HandMadeSource small_source() {
  test::HandMadeSource source;
  source.add(linear_key(kTypes, 64, 96),
             {sample({1}, 1e-5), sample({8}, 2e-5), sample({64}, 1e-4), sample({512}, 8e-4)});
  std::vector<Sample> attend;
  for (const std::uint64_t n : {1, 8, 64})
    for (const std::uint64_t c : {16, 256, 4096}) attend.push_back(sample({0, 0, 0, n, c}, 5e-6 + 1e-8 * n * (c + 1)));
  for (const std::uint64_t b : {1, 4})
    for (const std::uint64_t q : {16, 128, 512}) attend.push_back(sample({b, q, 0}, 6e-6 + 1e-9 * b * q * (q + 1) / 2));
  source.add(attention(), attend);
  source.add(collective_key("all_reduce", "bfloat16", 2, "vllm-custom"),
             {sample({128, 2}, 4e-6), sample({1280, 2}, 5e-6)});
  source.add(linear_key(kTypes, 64, 1000), {sample({1}, 3e-5), sample({64}, 5e-5)});
  return source;
}

CompileSettings settings() {
  CompileSettings made;
  made.max_num_batched_tokens = 512;
  made.max_num_seqs = 64;
  made.efficiency = test::ideal();
  made.fitted = false;
  return made;
}

ProfiledOracle oracle_of(const StepPlan& plan, const SampleSource& source, const CompileSettings& with = settings(),
                         const Platform& platform = {}) {
  const std::array<const SampleSource*, 1> sources{&source};
  return ProfiledOracle(plan, sources, test::slow_gpu(), with, platform);
}

TEST(ProfiledOracle, AddsUpItsOperators) {
  const test::HandMadeSource source = small_source();
  const ProfiledOracle oracle = oracle_of(small_plan(), source);
  const StepCost cost = oracle.cost(decodes(8, 256), {});
  EXPECT_NEAR(cost.device.attention, 3 * (5e-6 + 1e-8 * 8 * 257), 1e-12);
  EXPECT_NEAR(cost.device.collective, 6 * (4e-6 + 1e-6 * (1024 - 128) / (1280 - 128)), 1e-12);
  EXPECT_GT(cost.device.token_ops, 3 * 2e-5 + 3e-5);
  EXPECT_LT(cost.device.token_ops, 3 * 2e-5 + 5e-5);
  EXPECT_EQ(cost.device.other, 0);
  const Provenance& from = cost.provenance;
  EXPECT_NEAR(from.measured + from.interpolated + from.extrapolated + from.roofline, cost.device.total(), 1e-12);
  EXPECT_EQ(from.roofline, 0);
  EXPECT_GT(from.measured, 0);
  EXPECT_GT(cost.stated_error, 0);
  EXPECT_LT(cost.stated_error, 0.5);
}

TEST(ProfiledOracle, NoStepIsClaimedToBeExact) {
  const test::HandMadeSource source = small_source();
  const ProfiledOracle oracle = oracle_of(small_plan(), source);
  for (const std::uint32_t n : {1, 7, 8, 64}) {
    for (const std::uint64_t context : {16, 100, 256, 4096}) {
      BatchShape shape = decodes(n, context);
      EXPECT_GE(oracle.cost(shape, {}).stated_error, kAgainError) << n << " at " << context;
      const std::array chunks{PrefillChunk{128, 0}, PrefillChunk{1, 16}};
      shape.prefills = chunks;
      shape.prefill_tokens = 129;
      EXPECT_GE(oracle.cost(shape, {}).stated_error, kAgainError) << n << " at " << context << " beside a prompt";
    }
  }
}

TEST(ProfiledOracle, PadsToCapturedSizes) {
  const test::HandMadeSource source = small_source();
  CompileSettings with = settings();
  with.capture_sizes = {8, 64};
  const ProfiledOracle padded = oracle_of(small_plan(), source, with);
  BatchShape five = decodes(5, 256);
  BatchShape eight = decodes(8, 256);
  five.logits_rows = eight.logits_rows = 0;
  EXPECT_EQ(padded.cost(five, {}).device.token_ops, padded.cost(eight, {}).device.token_ops);
  EXPECT_NEAR(padded.cost(eight, {}).device.token_ops, 6e-5, 1e-15);
}

TEST(ProfiledOracle, MixedStepsAddPrefillAttention) {
  const test::HandMadeSource source = small_source();
  const ProfiledOracle oracle = oracle_of(small_plan(), source);
  const std::array chunks{PrefillChunk{128, 0}};
  BatchShape shape = decodes(8, 256);
  shape.prefills = chunks;
  shape.prefill_tokens = 128;
  const StepCost cost = oracle.cost(shape, {});
  EXPECT_NEAR(cost.device.attention, 3 * (5e-6 + 1e-8 * 8 * 257 + 6e-6 + 1e-9 * 128 * 129 / 2), 1e-12);
  const Provenance& from = cost.provenance;
  EXPECT_NEAR(from.measured + from.interpolated + from.extrapolated + from.roofline, cost.device.total(), 1e-12);
}

/// Latent attention: what short chunks absorb and long ones expand, their contexts too.
TEST(ProfiledOracle, TheFamilyOfLatentAttentionSaysWhichChunksAreExpanded) {
  const OperatorKey absorb = bmm_key(kTypes, 4, 128, 512), expand = linear_key(kTypes, 512, 1024);
  test::HandMadeSource source;
  source.add(absorb, {sample({1}, 1e-6), sample({100}, 1e-4), sample({1000}, 1e-3)});
  source.add(expand, {sample({1}, 2e-6), sample({100}, 2e-4), sample({1000}, 2e-3)});
  const auto seconds = [&](const char* family, std::uint32_t query) {
    const MlaWork work{.heads = 4, .kv_lora_rank = 512, .qk_nope_dim = 128, .qk_rope_dim = 64, .v_dim = 128};
    StepPlan plan;
    plan.entries = {
        entry("absorbed_k_proj", absorb, Binding::kDecodeTokens), entry("kv_b_proj", expand, Binding::kPrefillTokens),
        entry("mla_attention", mla_attention_key("bfloat16", "bfloat16", work, family), Binding::kAttention)};
    const std::array<PrefillChunk, 1> chunks{{{query, 100}}};
    BatchShape shape = decodes(5, 50);
    shape.prefills = chunks;
    shape.prefill_tokens = query;
    return oracle_of(plan, source).cost(shape, {}).device.token_ops;
  };
  EXPECT_NEAR(seconds("fa3-mla", 300), 305e-6, 3e-6);
  EXPECT_NEAR(seconds("fa3-mla", 512), 517e-6, 5e-6);
  EXPECT_NEAR(seconds("fa3-mla", 513), 5e-6 + 2 * 640e-6, 2e-6);  // whole tiles of 128 rows
  EXPECT_NEAR(seconds("flashmla", 300), 5e-6 + 2 * 512e-6, 2e-6);
}

TEST(ProfiledOracle, FirstSourceThatAnswersWinsAndRooflineIsLast) {
  test::HandMadeSource first, second = small_source();
  first.add(linear_key(kTypes, 64, 96), {sample({1}, 1.0), sample({512}, 1.0)});
  const std::array<const SampleSource*, 2> sources{&first, &second};
  StepPlan plan = small_plan();
  plan.entries.push_back(entry("rope", rope_key("bfloat16", 4, 2, 8), Binding::kTokens, 3));
  plan.entries.back().bytes_per_token = 1000;
  const ProfiledOracle oracle(plan, sources, test::slow_gpu(), settings(), {});
  const StepCost cost = oracle.cost(decodes(1, 256), {});
  EXPECT_GT(cost.device.token_ops, 3.0);
  EXPECT_NEAR(cost.provenance.roofline, 3e-6, 1e-9);  // 1,000 bytes at 1 GB/s, three times
  EXPECT_EQ(oracle.plan().operators()[0].source, 0);
  EXPECT_EQ(oracle.plan().operators()[1].source, 1);
  EXPECT_EQ(oracle.plan().operators()[4].source, -1);
}

TEST(ProfiledOracle, AttentionOfAnotherScaleOrWithoutSinksStandsInAndSaysSo) {
  const test::HandMadeSource source = small_source();
  const ProfiledOracle same = oracle_of(small_plan(), source);
  const std::array chunks{PrefillChunk{128, 0}};  // a measured point
  BatchShape batch;
  batch.prefills = chunks;
  batch.prefill_tokens = 128;
  for (const char* detail : {"scale", "sinks", "soft_cap"}) {
    OperatorKey key = attention();
    if (std::string_view(detail) == "sinks")
      key.attributes[detail] = true;
    else
      key.attributes[detail] = 0.5;
    StepPlan plan = small_plan();
    plan.entries[1] = entry("attention", key, Binding::kAttention, 3);
    const ProfiledOracle oracle = oracle_of(plan, source);
    const OperatorAnswer& answer = oracle.plan().operators()[1];
    if (std::string_view(detail) == "soft_cap") {
      EXPECT_EQ(answer.source, -1) << "other work";
      continue;
    }
    EXPECT_EQ(answer.source, 0) << detail;
    EXPECT_EQ(answer.best, Origin::kInterpolated) << detail;
    EXPECT_NE(answer.note.find(detail), std::string::npos) << answer.note;
    const StepCost cost = oracle.cost(batch, {}), own = same.cost(batch, {});
    EXPECT_EQ(cost.device.attention, own.device.attention) << detail;
    EXPECT_NEAR(own.provenance.measured - cost.provenance.measured, own.device.attention, 1e-12) << detail;
    EXPECT_GE(cost.stated_error, own.stated_error) << detail;
  }
}

TEST(ProfiledOracle, WithoutRooflineNamesWhatNobodyAnswers) {
  const test::HandMadeSource source = small_source();
  StepPlan plan = small_plan();
  plan.entries.push_back(entry("rope", rope_key("bfloat16", 4, 2, 8), Binding::kTokens, 3));
  CompileSettings with = settings();
  with.use_roofline = false;
  try {
    oracle_of(plan, source, with);
    FAIL() << "taken";
  } catch (const OracleError& error) {
    EXPECT_NE(std::string(error.what()).find("rope"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("qkv_proj"), std::string::npos) << error.what();
  }
}

TEST(ProfiledOracle, LongAllReducesGoThroughNccl) {
  test::HandMadeSource source = small_source();
  source.add(collective_key("all_reduce", "bfloat16", 2, "nccl"), {sample({128, 2}, 1.0), sample({65536, 2}, 1e-4)});
  const ProfiledOracle oracle = oracle_of(small_plan(), source);
  const std::array chunks{PrefillChunk{512, 0}};
  BatchShape shape;
  shape.prefills = chunks;
  shape.prefill_tokens = 512;
  EXPECT_NEAR(oracle.cost(shape, {}).device.collective, 6 * 1e-4, 1e-12);
}

TEST(ProfiledOracle, ExpertsFollowTheRoutingAndActivatedExperts) {
  ExpertWork work;
  work.hidden = 64, work.intermediate = 32, work.local_experts = 8, work.top_k = 2;
  const OperatorKey key = moe_experts_key("bfloat16", "bfloat16", work);
  StepPlan plan;
  plan.entries = {entry("moe_experts", key, Binding::kExperts)};
  test::HandMadeSource source;
  source.add(key,
             {sample({1, 0, 0}, 1e-5), sample({16, 0, 0}, 4e-5), sample({1, 0, 1}, 2e-5), sample({16, 0, 1}, 8e-5)});
  BatchShape shape = decodes(16, 10);
  // The table's 32 choices hit all eight experts; sixteen tokens that choose two of eight at random miss one in a
// hundred.
  EXPECT_NEAR(oracle_of(plan, source).cost(shape, {}).device.token_ops, 4e-5 * (1 - std::pow(0.75, 16)), 1e-15);
  EXPECT_NEAR(oracle_of(plan, source).cost(decodes(1, 10), {}).device.token_ops, 1e-5, 1e-15) << "two either way";
  CompileSettings skewed = settings();
  skewed.routing = 1;
  EXPECT_DOUBLE_EQ(oracle_of(plan, source, skewed).cost(shape, {}).device.token_ops, 8e-5);
  test::HandMadeSource by_experts;  // one token activates two of eight, whatever else was measured
  by_experts.add(key, {sample({1, 1, 0}, 1e-5), sample({1, 3, 0}, 3e-5)});
  EXPECT_NEAR(oracle_of(plan, by_experts).cost(decodes(1, 10), {}).device.token_ops, 2e-5, 1e-15);
}

/// Balanced tokens that a sweep measured: the time of a tile of each expert, and the tiles that they have at random.
TEST(ProfiledOracle, SweptExpertsHaveTheTilesOfARandomRouter) {
  ExpertWork work;
  work.hidden = 64, work.intermediate = 32, work.local_experts = 8, work.top_k = 2;
  StepPlan plan;
  const OperatorKey key = moe_experts_key("bfloat16", "bfloat16", work);
  ASSERT_EQ(key.family, kExpertTilesFamily);
  plan.entries = {entry("moe_experts", key, Binding::kExperts)};
  std::vector<Sample> samples = {sample({1, 0, 0}, 2e-5), sample({4, 0, 0}, 8e-5), sample({512, 0, 0}, 8e-5),
                                 sample({516, 0, 0}, 16e-5), sample({1024, 0, 0}, 16e-5)};
  for (Sample& each : samples) each.kernels = {"fused_moe_kernel"};
  test::HandMadeSource source;
  source.add(key, samples);
  const ProfiledOracle oracle = oracle_of(plan, source);
  const auto seconds = [&](std::uint32_t tokens) { return oracle.cost(decodes(tokens, 10), {}).device.token_ops; };
  EXPECT_NEAR(seconds(1), 2e-5, 1e-9);
  EXPECT_NEAR(seconds(64), 8e-5, 1e-7) << "the balanced curve is flat there, and none of eight is missed";
  // Of eight experts with 128 rows in the mean, 3.84 have more: normal_below(0.5 / sqrt(96)) = 0.52.
  EXPECT_NEAR(seconds(512), (0.52 * 8 + 0.48 * 16) * 1e-5, 2e-7);
  EXPECT_NEAR(seconds(700), 16e-5, 1e-7);
  EXPECT_EQ(fit_figures(key, samples, test::slow_gpu()).points, 5u) << "measured ones";
  CompileSettings skewed = settings();
  skewed.routing = 1;  // of which there is none: the nearest are these
  EXPECT_DOUBLE_EQ(oracle_of(plan, source, skewed).cost(decodes(512, 10), {}).device.token_ops, seconds(512));
}

TEST(ProfiledOracle, SustainedClockSlowsComputingAlone) {
  test::HandMadeSource source;
  const OperatorKey key = linear_key(kTypes, 64, 96);
  // At 0.1 GB/s and 1 GFLOP/s one row is bound by memory (12,288 B of weights), many by computing.
  Gpu gpu = test::slow_gpu();
  gpu.memory_bandwidth = 1e8;
  source.add(key, {sample({1}, 2e-5), sample({512}, 8e-3), sample({512}, 1e-2, ClockRegime::kSustained)});
  StepPlan plan;
  plan.entries = {entry("qkv_proj", key, Binding::kTokens)};
  Platform platform;
  platform.clock = {0.5, 2};
  const std::array<const SampleSource*, 1> sources{&source};
  const ProfiledOracle oracle(plan, sources, gpu, settings(), platform);
  EXPECT_EQ(oracle.clock_model().time_constant, 2);
  const std::array chunks{PrefillChunk{512, 0}};
  BatchShape shape;
  shape.prefills = chunks;
  shape.prefill_tokens = 512;
  EXPECT_NEAR(oracle.cost(shape, {1}).device.other, 2e-3, 1e-9);  // the measured ratio, not the platform's
  // 8 ms with a time constant of 2 s hardly warm the device they start on at one half.
  EXPECT_GE(oracle.cost(shape, {0.5}).device.other, 1e-3);
  EXPECT_NEAR(oracle.cost(shape, {0.5}).device.other, 1e-3, 3e-6);
  EXPECT_GT(oracle.cost(shape, {}).compute_share, 0.5);
  BatchShape one = decodes(1, 10);
  one.logits_rows = 0;
  EXPECT_EQ(oracle.cost(one, {1}).device.other, 0);
}

TEST(ProfiledOracle, AttentionAtTheSustainedClockIsWhatWasMeasuredThere) {
  const OperatorKey key = attention();
  StepPlan plan;
  plan.entries = {entry("attention", key, Binding::kAttention)};
  test::HandMadeSource source;
  source.add(key, {sample({0, 0, 0, 16, 127}, 2e-5), sample({0, 0, 0, 32, 127}, 4e-5), sample({1, 512}, 1e-3),
                   sample({0, 0, 0, 32, 127}, 5e-5, ClockRegime::kSustained)});
  Platform platform;
  platform.clock.slowdown = platform.clock.slowdown_decode_attention = 0.1;  // what would stand in
  platform.clock.time_constant = 2;
  const ProfiledOracle oracle = oracle_of(plan, source, settings(), platform);
  const double cool_s = oracle.cost(decodes(32, 127), {}).device.attention;
  EXPECT_NEAR(cool_s, 4e-5, 1e-9) << "sustained samples do not mix with cool ones";
  EXPECT_NEAR(oracle.cost(decodes(32, 127), {1}).device.total(), 1.25 * cool_s, 1e-2 * cool_s);
}

TEST(ProfiledOracle, HeatOfAProfilesRepetitionsIsTakenOut) {
  test::HandMadeSource source;  // of no known regime
  source.add(linear_key(kTypes, 64, 96), {sample({16}, 2e-5, ClockRegime::kUnknown)});
  source.add(attention(), {sample({0, 0, 0, 16, 128}, 2e-5, ClockRegime::kUnknown)});
  source.add(collective_key("all_reduce", "bfloat16", 2, "vllm-custom"), {sample({2048, 2}, 4e-6)});
  source.add(linear_key(kTypes, 64, 1000), {sample({16}, 3e-5, ClockRegime::kUnknown)});
  Platform platform;
  platform.clock.slowdown = platform.clock.slowdown_memory = platform.clock.slowdown_decode_attention = 0.2;
  platform.clock.time_constant = 1e-5;
  const BatchShape shape = decodes(16, 128);
  const StepCost timed = oracle_of(small_plan(), source, settings(), platform).cost(shape, {});
  platform.clock.profile_repeats = 1e9;  // fully warm
  const ProfiledOracle oracle = oracle_of(small_plan(), source, settings(), platform);
  const StepCost cool = oracle.cost(shape, {});
  EXPECT_NEAR(cool.device.attention, timed.device.attention / 1.2, 1e-6 * timed.device.attention);
  EXPECT_NEAR(cool.device.token_ops, timed.device.token_ops / 1.2, 1e-6 * timed.device.token_ops);
  EXPECT_EQ(cool.device.collective, timed.device.collective);
  const StepCost warm = oracle.cost(shape, {1});
  EXPECT_NEAR(warm.device.other, 0.2 * (cool.device.attention + cool.device.token_ops), 1e-2 * warm.device.other);
  const test::HandMadeSource known = small_source();  // of a known one
  EXPECT_EQ(oracle_of(small_plan(), known, settings(), platform).cost(shape, {}).device.token_ops,
            oracle_of(small_plan(), known).cost(shape, {}).device.token_ops);
}

TEST(ProfiledOracle, LongPromptsWarmTheirOwnDevice) {
  const test::HandMadeSource source = small_source();
  Platform platform;
  platform.clock.slowdown = 0.2;
  platform.clock.time_constant = 1e-4;
  const ProfiledOracle oracle = oracle_of(small_plan(), source, settings(), platform);
  const std::array chunks{PrefillChunk{512, 0}};
  BatchShape shape;
  shape.prefills = chunks;
  shape.prefill_tokens = 512;
  const StepCost cool = oracle.cost(shape, {0}), warm = oracle.cost(shape, {1});
  EXPECT_GT(cool.device.other, 0);
  EXPECT_LT(cool.device.other, warm.device.other);
}

TEST(FitFigures, AreThoseOfTheFit) {
  // The middle point is predicted as 3e-5 and measured as 4e-5.
  const FitFigures linear = fit_figures(
      linear_key(kTypes, 64, 96), {sample({96}, 2e-5), sample({192}, 4e-5), sample({288}, 4e-5)}, test::slow_gpu());
  EXPECT_EQ(linear.points, 3u);
  EXPECT_NEAR(linear.fold_error, 0.25, 1e-9);
  const test::HandMadeSource source = small_source();
  const FitFigures attend = fit_figures(attention(), source.samples(signature_of(attention())), test::slow_gpu());
  EXPECT_EQ(attend.points, 15u);
  EXPECT_GT(attend.fold_error, 0);
}

TEST(ProfiledOracle, EmptyBatchTakesNoDeviceTime) {
  const test::HandMadeSource source = small_source();
  EXPECT_EQ(oracle_of(small_plan(), source).cost({}, {}).device.total(), 0);
}

TEST(ProfiledOracle, BeyondItsTablesAnswersTheSameWay) {
  const test::HandMadeSource source = small_source();
  CompileSettings narrow = settings();
  narrow.max_num_batched_tokens = 16;
  narrow.max_num_seqs = 4;
  CompileSettings wide = settings();
  const BatchShape shape = decodes(60, 100);
  const StepCost a = oracle_of(small_plan(), source, narrow).cost(shape, {});
  const StepCost b = oracle_of(small_plan(), source, wide).cost(shape, {});
  EXPECT_DOUBLE_EQ(a.device.token_ops, b.device.token_ops);
  EXPECT_DOUBLE_EQ(a.device.collective, b.device.collective);
}

TEST(ProfiledOracle, RandomBatchesAreSane) {
  const test::HandMadeSource source = small_source();
  Platform platform;
  platform.clock = {0.2, 1};
  const ProfiledOracle oracle = oracle_of(small_plan(), source, settings(), platform);
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::vector<PrefillChunk> chunks(random() % 5);
    BatchShape shape = decodes(random() % 70, random() % 100000);
    for (PrefillChunk& chunk : chunks) {
      chunk = {static_cast<std::uint32_t>(1 + random() % 300), static_cast<std::uint32_t>(random() % 50000)};
      shape.prefill_tokens += chunk.query;
    }
    shape.prefills = chunks;
    if (shape.empty()) continue;
    const double sustained = (random() % 11) / 10.0;
    const StepCost cost = oracle.cost(shape, {sustained});  // throws for NaN and negative times
    const Provenance& from = cost.provenance;
    EXPECT_NEAR((from.measured + from.interpolated + from.extrapolated + from.roofline) / cost.device.total(), 1, 1e-9);
    EXPECT_GE(cost.device.total(), oracle.cost(shape, {}).device.total());
    EXPECT_GE(cost.stated_error, 0);
    EXPECT_LE(cost.stated_error, 1);
    EXPECT_GE(cost.compute_share, 0);
    EXPECT_LE(cost.compute_share, 1);
  }
}

}  // namespace
}  // namespace dooly::oracle
