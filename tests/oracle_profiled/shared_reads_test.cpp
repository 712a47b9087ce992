// Decodes that share KV blocks: the law, and what a model makes of it.
#include "oracle_profiled/shared_reads.hpp"

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle_profiled/attention_model.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <memory>
#include <vector>

namespace dooly::oracle {
namespace {

using test::sample;

/// 32 decodes of 1,000 tokens each, in groups of `readers` that share `shared` tokens.
BatchShape groups_of(std::uint32_t readers, std::uint64_t shared) {
  BatchShape shape = test::decodes(32, 1000);
  shape.shared_tokens = 32 / readers * shared;
  shape.repeated_tokens = 32 / readers * (readers - 1) * shared;
  return shape;
}

/// 132 multiprocessors, 8 KV heads: 16.5 sequences at a time. In groups of 4 every eighth sequence is a reader of the
/// same blocks; 4 × 8 groups hold 500 tokens, 3 × 8 × 500 of 32,000 come again: 0.375 of all.
TEST(SharedReads, SavesWhatComesAgainWhileItIsThere) {
  const SharedReads reads(16.5);
  const BatchShape shape = groups_of(4, 500);
  const double reach = 0.35 * (1 - std::exp(-1.31 * 16.5 / 8));
  EXPECT_NEAR(reads.reach(shape), reach, 1e-12);
  EXPECT_NEAR(SharedReads::saved(reads.reach(shape), shape), reach * 0.375, 1e-12);
}

TEST(SharedReads, NothingIsSavedWhereNothingIsSharedOrTheDeviceIsUnknown) {
  EXPECT_EQ(SharedReads(16.5).reach(test::decodes(32, 1000)), 0);
  EXPECT_EQ(SharedReads().reach(groups_of(4, 500)), 0);
}

TEST(SharedReads, NothingIsClaimedOfDevicesThatWereNotMeasured) {
  AttentionWork work;
  work.heads = 32, work.kv_heads = 8, work.head_dim = 128;
  const OperatorKey key = attention_key("bfloat16", "bfloat16", work, "fa3");
  EXPECT_DOUBLE_EQ(attention_roofline(key, find_gpu("H200"), {}).in_flight, 132 / 8.0);
  EXPECT_EQ(attention_roofline(key, find_gpu("A100-SXM-80GB"), {}).in_flight, 0);
}

TEST(SharedReads, MoreReadersAndMoreSharedBlocksSaveMore) {
  const SharedReads reads(16.5);
  const auto saved = [&](const BatchShape& shape) { return SharedReads::saved(reads.reach(shape), shape); };
  EXPECT_LT(saved(groups_of(2, 500)), saved(groups_of(4, 500)));
  EXPECT_LT(saved(groups_of(4, 500)), saved(groups_of(32, 500)));
  EXPECT_LT(saved(groups_of(4, 500)), saved(groups_of(4, 900)));
}

/// Measured with FlashAttention 3 on an H200 (32 query heads, 8 KV heads of 128), share of the time without sharing.
TEST(SharedReads, FollowsWhatWasMeasured) {
  struct Measured {
    std::uint32_t decodes, context, readers;
    double part, share;
  };
  const std::vector<Measured> all{{32, 3072, 4, 0.9, 0.794},  {64, 1024, 8, 0.5, 0.884},  {64, 3072, 64, 0.9, 0.669},
                                  {128, 1536, 2, 0.9, 0.958}, {128, 1536, 8, 0.9, 0.808}, {256, 768, 4, 0.5, 0.971}};
  for (const Measured& m : all) {
    BatchShape shape = test::decodes(m.decodes, m.context);
    const auto shared = static_cast<std::uint64_t>(m.part * m.context);
    shape.shared_tokens = m.decodes / m.readers * shared;
    shape.repeated_tokens = shape.shared_tokens * (m.readers - 1);
    const SharedReads reads(16.5);
    EXPECT_NEAR(1 - SharedReads::saved(reads.reach(shape), shape), m.share, 0.05) << m.decodes << " " << m.readers;
  }
}

class SharedDecodes : public testing::Test {
 protected:
  SharedDecodes() {
    std::vector<Sample> samples;
    for (const std::uint64_t n : {1, 8, 32, 128})
      for (const std::uint64_t a : {1, 256, 1024, 4096})
        samples.push_back(sample({0, 0, 0, n, a - 1}, 8e-6 + 1e-9 * static_cast<double>(n * a)));
    AttentionWork work;
    work.heads = 32, work.kv_heads = 8, work.head_dim = 128;
    const OperatorKey key = attention_key("bfloat16", "bfloat16", work, "fa3");
    AttentionModel::Limits limits{256, 32768};
    limits.clock.slowdown_decode_attention = 0.1;
    model = std::make_unique<AttentionModel>(samples, attention_roofline(key, find_gpu("H200"), {}), limits);
  }
  std::unique_ptr<AttentionModel> model;
};

/// 32 × 1,001 tokens take 8 + 32 µs, of which 8 are the start; a fifth of the reading is saved, the start never.
TEST_F(SharedDecodes, SaveOfReadingAndNotOfTheStart) {
  const BatchShape alone = test::decodes(32, 1000), shared = groups_of(4, 500);
  const double start = model->decode_seconds(test::decodes(1, 0));
  const double saved = SharedReads::saved(SharedReads(16.5).reach(shared), shared);
  const double expected = model->decode_seconds(alone) - saved * (model->decode_seconds(alone) - start);
  EXPECT_DOUBLE_EQ(model->decode_seconds(shared), expected);
  EXPECT_DOUBLE_EQ(model->at(shared, ChunkSums::of(shared)).seconds, expected);
  EXPECT_NEAR(model->at(shared, ChunkSums::of(shared)).clock_seconds, expected * 0.1, expected * 1e-3);
}

TEST_F(SharedDecodes, AWalkIsEqualToItsSteps) {
  BatchShape shape = groups_of(4, 500);
  AttentionModel::Walk walk = model->walk_from(shape);
  for (int step = 0; step < 40; ++step) {
    EXPECT_EQ(walk.seconds(shape), model->decode_seconds(shape)) << step;
    shape.decode_context_squares += 2 * shape.decode_context + shape.decodes;
    shape.decode_context += shape.decodes;
    if (shape.decode_longest > 0) ++shape.decode_longest;
  }
}

TEST_F(SharedDecodes, BesideAChunkTheDecodesSaveToo) {
  const PrefillChunk chunk{64, 0};
  BatchShape shape = groups_of(4, 500);
  shape.prefills = {&chunk, 1};
  shape.prefill_tokens = 64;
  BatchShape alone = shape;
  alone.shared_tokens = alone.repeated_tokens = 0;
  EXPECT_LT(model->at(shape, ChunkSums::of(shape)).seconds, model->at(alone, ChunkSums::of(alone)).seconds);
}

}  // namespace
}  // namespace dooly::oracle
