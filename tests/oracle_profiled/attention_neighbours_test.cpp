#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle_profiled/compiled_plan.hpp"
#include "oracle_store/sources.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace dooly::oracle {
namespace {

using test::sample;

OperatorKey attention(std::uint64_t heads, std::uint64_t kv_heads, std::uint64_t head_dim = 128) {
  AttentionWork work;
  work.heads = heads, work.kv_heads = kv_heads, work.head_dim = head_dim;
  return attention_key("bfloat16", "bfloat16", work, "fa3");
}

CompiledPlan plan_of(const OperatorKey& key, const SampleSource& source, const Gpu& gpu = find_gpu("H200")) {
  StepPlan plan;
  plan.entries = {test::entry("attention", key, Binding::kAttention)};
  const std::array<const SampleSource*, 1> sources{&source};
  return CompiledPlan(plan, sources, gpu, {});
}

double attention_s(const CompiledPlan& plan, std::uint32_t decodes, std::uint64_t context,
                   std::vector<PrefillChunk> chunks = {}) {
  BatchShape shape = test::decodes(decodes, context);
  shape.prefills = chunks;
  for (const PrefillChunk& chunk : chunks) shape.prefill_tokens += chunk.query;
  StepCost cost;
  plan.cost(shape, {}, cost);
  return cost.device.attention;
}

/// 32 heads, 8 of the cache: 10 µs and 1 ns for each attended token of a sequence.
std::vector<Sample> measured() {
  std::vector<Sample> samples;
  for (const std::uint64_t n : {1, 4, 16, 64})
    for (const std::uint64_t c : {127, 1023, 8191})
      samples.push_back(sample({0, 0, 0, n, c}, 10e-6 + 1e-9 * n * (c + 1)));
  for (const std::uint64_t b : {1, 4})
    for (const std::uint64_t q : {128, 512, 2048})
      samples.push_back(sample({b, q, 0}, 20e-6 + 1e-11 * b * q * (q + 1)));
  return samples;
}

TEST(AttentionOfOtherHeads, SequencesCountByTheirHeads) {
  test::HandMadeSource source;
  source.add(attention(32, 8), measured());
  const CompiledPlan whole = plan_of(attention(32, 8), source), half = plan_of(attention(16, 4), source),
                     twice = plan_of(attention(64, 16), source);
  EXPECT_NEAR(attention_s(half, 8, 1023), attention_s(whole, 4, 1023), 1e-12);
  EXPECT_NEAR(attention_s(half, 128, 8191), attention_s(whole, 64, 8191), 1e-12);
  EXPECT_NEAR(attention_s(twice, 2, 127), attention_s(whole, 4, 127), 1e-12);
  EXPECT_NEAR(attention_s(half, 0, 0, {{512, 0}, {512, 0}}), attention_s(whole, 0, 0, {{512, 0}}), 1e-12);
}

TEST(AttentionOfOtherHeads, ASingleSequenceKeepsTheLeastTimeAndScalesTheRest) {
  test::HandMadeSource source;
  source.add(attention(32, 8), measured());
  const double least = 10e-6 + 128e-9;
  EXPECT_NEAR(attention_s(plan_of(attention(16, 4), source), 1, 8191), least + (10e-6 + 8192e-9 - least) / 2, 1e-12);
}

TEST(AttentionOfOtherHeads, IsLabelledInterpolatedWithAStatedError) {
  test::HandMadeSource source;
  source.add(attention(32, 8), measured());
  const CompiledPlan plan = plan_of(attention(16, 4), source);
  const OperatorAnswer& answer = plan.operators().front();
  EXPECT_EQ(answer.source, 0);
  EXPECT_EQ(answer.best, Origin::kInterpolated);
  EXPECT_EQ(answer.note, "from 32 heads, 8 of the KV cache");
  BatchShape shape = test::decodes(8, 1023);
  StepCost cost;
  plan.cost(shape, {}, cost);
  EXPECT_GE(cost.stated_error, 0.2);
  EXPECT_EQ(cost.provenance.measured, 0);
  EXPECT_GT(cost.provenance.interpolated, 0);
}

TEST(AttentionOfOtherHeads, OtherHeadSizesWindowsAndFarHeadsAreNoNeighbours) {
  test::HandMadeSource source;
  source.add(attention(32, 8), measured());
  OperatorKey window = attention(16, 4);
  window.attributes["window"] = std::int64_t{4096};
  OperatorKey family = attention(16, 4);
  family.family = "fa2";
  for (const OperatorKey& key : {attention(16, 4, 64), window, family, attention(1, 1)})
    EXPECT_EQ(plan_of(key, source).operators().front().best, Origin::kRoofline);
}

TEST(AttentionOfOtherHeads, TheNeighbourWithAsManyHeadsForEachHeadOfTheCacheWins) {
  test::HandMadeSource source;
  source.add(attention(32, 4), measured());
  source.add(attention(64, 16), measured());
  EXPECT_EQ(plan_of(attention(16, 4), source).operators().front().note, "from 64 heads, 16 of the KV cache");
}

/// All of a store but one signature.
class Without final : public SampleSource {
 public:
  Without(const SampleSource& all, Signature left_out) : all_(&all), left_out_(left_out) {}
  std::vector<Sample> samples(const Signature& signature) const override {
    return signature == left_out_ ? std::vector<Sample>{} : all_->samples(signature);
  }
  std::vector<SampleSet> sets() const override {
    std::vector<SampleSet> sets = all_->sets();
    std::erase_if(sets, [&](const SampleSet& set) { return set.signature == left_out_; });
    return sets;
  }
  std::string describe() const override { return all_->describe(); }

 private:
  const SampleSource* all_;
  Signature left_out_;
};

struct Errors {
  double sum = 0, signed_sum = 0;
  int count = 0;
  void add(double predicted, double measured) {
    sum += std::abs(predicted / measured - 1), signed_sum += predicted / measured - 1, ++count;
  }
  double mean() const { return count == 0 ? 0 : sum / count; }
};

/// Sound samples that are even, at the cool clock or an unknown one.
bool counts(const Sample& s) {
  return s.status == SampleStatus::kOk && s.regime != ClockRegime::kSustained && s.point[5] == 0;
}

double predicted(const CompiledPlan& plan, const Sample& s) {
  return attention_s(plan, static_cast<std::uint32_t>(s.point[3]), s.point[4],
                     std::vector<PrefillChunk>(
                         s.point[0], {static_cast<std::uint32_t>(s.point[1]), static_cast<std::uint32_t>(s.point[2])}));
}

TEST(AttentionOfOtherHeads, SignaturesLeftOutOfTheShippedStore) {
  const auto source = store::open_sample_source({dooly::test::source_path("stores/h200-vllm.jsonl.zst")});
  Errors all, roofline;
  int signatures = 0;
  for (const SampleSet& set : source->sets()) {
    if (set.key.kind != "attention") continue;
    const Without rest(*source, set.signature);
    const CompiledPlan plan = plan_of(set.key, rest);
    ASSERT_EQ(plan.operators().front().best, Origin::kInterpolated);
    const test::HandMadeSource nothing;
    const CompiledPlan unmeasured = plan_of(set.key, nothing);
    Errors decodes, chunks, both;
    for (const Sample& s : set.samples) {
      if (!counts(s)) continue;
      Errors& part = s.point[0] == 0 ? decodes : s.point[3] == 0 ? chunks : both;
      const double seconds = predicted(plan, s);
      part.add(seconds, s.median_s), all.add(seconds, s.median_s);
      roofline.add(predicted(unmeasured, s), s.median_s);
    }
    const std::string note = plan.operators().front().note;
    std::printf("%3llu heads, %llu of the cache, %-32s decodes %4.1f %%, chunks %4.1f %%, both %4.1f %%\n",
                static_cast<unsigned long long>(set.key.dims[0]), static_cast<unsigned long long>(set.key.dims[1]),
                note.c_str(), 100 * decodes.mean(), 100 * chunks.mean(), 100 * both.mean());
    ++signatures;
  }
  std::printf("%d signatures: MAPE %.1f %%, bias %+.1f %%; by the roofline %.1f %%\n", signatures, 100 * all.mean(),
              100 * all.signed_sum / all.count, 100 * roofline.mean());
  EXPECT_EQ(signatures, 13);
  EXPECT_LT(all.mean(), 0.2) << "as stated";
  EXPECT_LT(all.mean(), 0.7 * roofline.mean());
}

}  // namespace
}  // namespace dooly::oracle
