// How other kernels than FlashAttention 3 cut a launch, on 132 multiprocessors.
#include "oracle_profiled/dealt_fit.hpp"

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle_profiled/attention_model.hpp"

#include <gtest/gtest.h>
#include <array>
#include <memory>

namespace dooly::oracle {
namespace {

using Kernel = DealtKernel;
using Launch = DealtKernel::Launch;

OperatorKey key_of(const char* family, std::uint32_t heads = 32, std::uint32_t kv_heads = 8, std::uint32_t window = 0) {
  AttentionWork shape;
  shape.heads = heads, shape.kv_heads = kv_heads, shape.head_dim = 128, shape.window = window;
  return attention_key("bfloat16", "bfloat16", shape, family);
}

std::shared_ptr<const Kernel> kernel_of(const char* family, std::uint32_t heads = 32, std::uint32_t kv_heads = 8,
                                        std::uint32_t window = 0) {
  return Kernel::of(key_of(family, heads, kv_heads, window), find_gpu("H200"));
}

/// With a multiprocessor for each tile's rate: k tiles on one take k units a block.
Kernel::Terms terms_of(const std::shared_ptr<const Kernel>& kernel, const Launch& launch, int slots = 2) {
  return kernel->terms(launch, kernel->variant(launch), TileDealer(kernel->multiprocessors(), {slots, 0}));
}

TEST(DealtKernel, OnlyOfTheFamiliesAndTypesItKnows) {
  for (const char* family : {"fa2", "triton", "flashinfer"}) EXPECT_TRUE(kernel_of(family)) << family;
  EXPECT_FALSE(kernel_of("fa3"));
  EXPECT_FALSE(Kernel::of(key_of("triton"), Gpu{}));  // nobody knows its multiprocessors
  OperatorKey quantised = key_of("triton");
  quantised.dtypes[1] = "fp8";
  EXPECT_FALSE(Kernel::of(quantised, find_gpu("H200")));
  OperatorKey local = key_of("fa2");
  local.attributes["chunk"] = std::int64_t{8192};
  EXPECT_FALSE(Kernel::of(local, find_gpu("H200")));
}

TEST(Fa2Tiles, SplitsFillTheLastWaveNearlyBest) {
  const auto kernel = kernel_of("fa2");
  // 8 tiles of 256 blocks, 264 places. 32 splits fill 97 % of them, as do 64 and 128; the first number that fills 85 %
  // of that and leaves another share than the one before is 29: shares of 9 blocks, 29 × 8 tiles on 132.
  const Kernel::Terms one = terms_of(kernel, {1, 32768});
  EXPECT_EQ(one[Kernel::kSplits], 29);
  EXPECT_DOUBLE_EQ(one[Kernel::kTiles], 29 * 8 / 132.0);
  EXPECT_DOUBLE_EQ(one[Kernel::kEnd], 9 * 2);
  EXPECT_DOUBLE_EQ(one[Kernel::kCombine], 29 * 32 / 132.0);
  EXPECT_EQ(one[Kernel::kAnother], 0);  // a single sequence needs no copies
  // Again, from memory.
  EXPECT_EQ(terms_of(kernel, {1, 32768})[Kernel::kSplits], 29);
  // 216 of 264 places: above 80 %. Blocks of 64 keys then.
  const Kernel::Terms many = terms_of(kernel, {27, 640});
  EXPECT_EQ(many[Kernel::kSplits], 0);
  EXPECT_DOUBLE_EQ(many[Kernel::kEnd], 10 * 2);
  EXPECT_EQ(many[Kernel::kAnother], 1);
}

TEST(Fa2Tiles, AllContextsAreSplitAlike) {
  // 16 × 8 tiles on 264 places: 2 splits (256 of 264). The long one has 128 blocks a split; the short one two of one.
  const Kernel::Terms uneven =
      terms_of(kernel_of("fa2"), {.decodes = 15, .attended = 256, .long_decodes = 1, .long_attended = 32768});
  EXPECT_EQ(uneven[Kernel::kSplits], 2);
  EXPECT_DOUBLE_EQ(uneven[Kernel::kBlocks], (15 * 2 * 1 + 2 * 128) * 8 / 132.0);
  EXPECT_GE(uneven[Kernel::kEnd], 128);
  EXPECT_LE(uneven[Kernel::kEnd], 2 * 128);
}

TEST(Fa2Tiles, BesideAChunkEachQueryHeadHasItsTiles) {
  const auto kernel = kernel_of("fa2");
  const Launch both{.decodes = 4, .attended = 1024, .chunks = 1, .query = 448, .context = 1024};
  const Kernel::Terms terms = terms_of(kernel, both);
  // 448 rows are 7 tiles of 64; the decodes' other six of the grid find nothing to do.
  EXPECT_DOUBLE_EQ(terms[Kernel::kTiles], 32 * (4 + 7) / 132.0);
  EXPECT_DOUBLE_EQ(terms[Kernel::kSequences], 32 * 4 * 6 / 132.0);
  // 8 blocks of 128 a decode; those of the chunk end at 1,088 … 1,472 tokens: 9 to 12 blocks, 10.5 on average.
  EXPECT_DOUBLE_EQ(terms[Kernel::kBlocks], 32 * (4 * 8 + 7 * 10.5) / 132.0);
  // So have decodes behind a window, which are not split.
  EXPECT_DOUBLE_EQ(terms_of(kernel_of("fa2", 32, 8, 4096), {1, 32768})[Kernel::kTiles], 32 / 132.0);
  EXPECT_DOUBLE_EQ(terms_of(kernel_of("fa2", 32, 8, 4096), {1, 32768})[Kernel::kEnd], 32);
}

TEST(TritonTiles, SixteenSequencesOfEightHeadsAreSplit) {
  const auto kernel = kernel_of("triton");
  EXPECT_EQ(kernel->variant({16, 100}), kernel->variant({1, 100}));
  EXPECT_NE(kernel->variant({16, 100}), kernel->variant({17, 100}));
  EXPECT_NE(kernel->variant({1, 100}),
            kernel->variant({.decodes = 1, .attended = 100, .chunks = 1, .query = 64, .context = 0}));
  // 16 segments of ⌈4,096 ÷ 256⌉ = 16 steps of 16 keys, 128 tiles.
  EXPECT_DOUBLE_EQ(terms_of(kernel, {1, 4096})[Kernel::kEnd], 16);
  EXPECT_DOUBLE_EQ(terms_of(kernel, {1, 4096})[Kernel::kCombine], 32 / 132.0);
  // 17 sequences: 136 tiles of 128 steps of 32 keys, two of them on four multiprocessors.
  EXPECT_DOUBLE_EQ(terms_of(kernel, {17, 4096})[Kernel::kEnd], 2 * 128);
}

TEST(TritonTiles, AWindowLeavesFewSegmentsOfALongContext) {
  // Segments are of the whole context: 64 steps of 16 keys, of which the last four hold the window.
  const Kernel::Terms terms = terms_of(kernel_of("triton", 32, 8, 4096), {1, 16384});
  EXPECT_DOUBLE_EQ(terms[Kernel::kEnd], 64);
  EXPECT_DOUBLE_EQ(terms[Kernel::kCombine], 4 * 32 / 132.0 / 16);
}

TEST(TritonTiles, ATileHoldsTheHeadsOfFourTokens) {
  const Kernel::Terms terms = terms_of(kernel_of("triton"), {.chunks = 2, .query = 10, .context = 0});
  EXPECT_DOUBLE_EQ(terms[Kernel::kTiles], 2 * 3 * 8 / 132.0);
  EXPECT_DOUBLE_EQ(terms_of(kernel_of("triton", 64, 8), {.chunks = 2, .query = 10, .context = 0})[Kernel::kTiles],
                   2 * 5 * 8 / 132.0);
}

TEST(FlashInferTiles, ContextsAreCutUntilAllRunAtOnce) {
  const auto kernel = kernel_of("flashinfer");
  // Room for 264 ÷ 8 = 33 chunks: 31 short contexts are one each, the long one two.
  const Kernel::Terms uneven =
      terms_of(kernel, {.decodes = 31, .attended = 256, .long_decodes = 1, .long_attended = 32768});
  EXPECT_DOUBLE_EQ(uneven[Kernel::kTiles], 33 * 8 / 132.0);
  EXPECT_DOUBLE_EQ(uneven[Kernel::kCombine], 33 * 32 / 132.0);
  // 34 sequences are more than there is room for: whole contexts.
  EXPECT_DOUBLE_EQ(terms_of(kernel, {34, 32768})[Kernel::kTiles], 34 * 8 / 132.0);
  // At least 128 tokens a chunk.
  EXPECT_DOUBLE_EQ(terms_of(kernel, {1, 300})[Kernel::kTiles], 3 * 8 / 132.0);
}

TEST(FlashInferTiles, DecodesAloneAreMergedEvenIfNoneIsCut) {
  const auto kernel = kernel_of("flashinfer");
  EXPECT_EQ(terms_of(kernel, {100, 1024})[Kernel::kAnother], 1);  // as captured
  EXPECT_EQ(terms_of(kernel, {600, 1024})[Kernel::kAnother], 0);
  const Launch both{.decodes = 100, .attended = 1024, .chunks = 1, .query = 64, .context = 0};
  EXPECT_EQ(terms_of(kernel, both)[Kernel::kAnother], 0);
  EXPECT_NE(kernel->variant(both), kernel->variant({100, 1024}));
}

TEST(FlashInferTiles, PromptsAreTilesOfOneHeadAndNotSplit) {
  const auto kernel = kernel_of("flashinfer");
  // 512 tokens: 4 tiles of 128 for 32 heads, 128 of 132; 576: a wave more.
  const Kernel::Terms one = terms_of(kernel, {.chunks = 1, .query = 512, .context = 8192}, 1);
  const Kernel::Terms two = terms_of(kernel, {.chunks = 1, .query = 576, .context = 8192}, 1);
  EXPECT_EQ(one[Kernel::kSequences], 1);
  EXPECT_EQ(two[Kernel::kSequences], 2);
  // 8,704 tokens are 91 blocks of 96.
  EXPECT_DOUBLE_EQ(one[Kernel::kEnd], 91);
  EXPECT_GT(two[Kernel::kEnd], 2 * 87);
  // A short one on a long context takes as long as its only tile: 16,400 tokens are 171 blocks.
  EXPECT_DOUBLE_EQ(terms_of(kernel, {.chunks = 1, .query = 16, .context = 16384}, 1)[Kernel::kEnd], 171);
}

/// 4 µs, 0.5 µs for a block until the last tile ends, 1 µs a tile; two thirds of it in the split kernel.
double law(const std::shared_ptr<const Kernel>& kernel, const Launch& launch) {
  const std::size_t variant = kernel->variant(launch);
  const Kernel::Terms terms = kernel->terms(launch, variant, TileDealer(kernel->multiprocessors(), {4, 2.4}));
  const double seconds = 4e-6 + 0.5e-6 * terms[Kernel::kEnd] + 1e-6 * terms[Kernel::kTiles];
  return variant == kernel->variant({1, 1}) ? seconds * 2 / 3 : seconds;
}

std::vector<Sample> samples_of(const std::shared_ptr<const Kernel>& kernel) {
  std::vector<Sample> out;
  const auto add = [&](const SamplePoint& p) {
    const auto d = [](std::uint64_t x) { return static_cast<double>(x); };
    const Launch launch{.decodes = d(p[3] - p[5]),
                        .attended = d(p[4] + 1),
                        .long_decodes = d(p[5]),
                        .long_attended = d(p[6] + 1),
                        .chunks = d(p[0]),
                        .query = d(p[1]),
                        .context = d(p[2])};
    out.push_back(test::sample({}, law(kernel, launch)));
    out.back().point = p;
  };
  for (const std::uint64_t n : {1, 4, 8, 16, 17, 33, 66, 67, 128, 256})
    for (const std::uint64_t context : {63, 500, 2047, 8191}) add({0, 0, 0, n, context});
  for (const std::uint64_t n : {8, 16, 32, 64, 128})
    for (const std::uint64_t few : {255, 1023})
      for (const std::uint64_t many : {std::uint64_t{1}, n / 8, n / 2})
        for (const std::uint64_t most : {2047, 8191}) add({0, 0, 0, n, few, many, most});
  for (const std::uint64_t query : {16, 112, 320, 1088, 3136})
    for (const std::uint64_t context : {0, 2048, 8192}) add({1, query, context});
  for (const std::uint64_t query : {64, 320, 1088})
    for (const std::uint64_t context : {0, 4096})
      for (const std::uint64_t n : {4, 32, 128})
        for (const std::uint64_t before : {511, 4095}) add({1, query, context, n, before});
  return out;
}

TEST(DealtFit, FindsSlotsAndWeightsOfALaw) {
  const auto kernel = kernel_of("triton");
  std::vector<DealtFit::Point> points;
  for (const double n : {1, 2, 5, 9, 16, 17, 30, 50, 66, 67, 70, 100, 130, 200, 250, 300})
    for (const double tokens : {100, 1000, 3000, 9000}) points.push_back({{n, tokens}, law(kernel, {n, tokens})});
  DealtFit fit;
  ASSERT_TRUE(fit.fit(kernel, points));
  EXPECT_LT(fit.error(), 0.01);
  for (const double n : {3, 12, 40, 68, 150})
    EXPECT_NEAR(fit.seconds({n, 2000}) / law(kernel, {n, 2000}), 1, 0.01) << n;
  EXPECT_FALSE(DealtFit().fit(kernel, {}));
}

TEST(DealtModel, TheLongestDecodeBoundsABatch) {
  const auto kernel = kernel_of("triton");
  const AttentionModel model(samples_of(kernel), attention_roofline(key_of("triton"), find_gpu("H200"), {}),
                             {256, 32768});
  for (const auto& [n, few, many, most] :
       {std::array<std::uint64_t, 4>{50, 400, 3, 6000}, {100, 600, 1, 7000}, {12, 300, 2, 5000}}) {
    BatchShape shape;
    shape.decodes = static_cast<std::uint32_t>(n);
    shape.decode_context = (n - many) * few + many * most;
    shape.decode_context_squares = (n - many) * few * few + many * most * most;
    shape.decode_longest = static_cast<std::uint32_t>(most);
    const auto d = [](std::uint64_t x) { return static_cast<double>(x); };
    const double wanted = law(kernel, {d(n - many), d(few + 1), d(many), d(most + 1)});
    const double seconds = model.decode_seconds(shape);
    EXPECT_NEAR(seconds / wanted, 1, 0.03) << n;
    shape.decode_context_cubes = (n - many) * few * few * few + many * most * most * most / 2;
    EXPECT_EQ(model.decode_seconds(shape), seconds) << n;
  }
}

void expect_mixed_near_law(const std::vector<Sample>& samples, double within) {
  const auto kernel = kernel_of("triton");
  const AttentionModel model(samples, attention_roofline(key_of("triton"), find_gpu("H200"), {}), {256, 32768});
  for (const auto& [query, context, n, before] :
       {std::array<std::uint32_t, 4>{100, 3000, 10, 2000}, {700, 0, 50, 1000}, {1000, 4000, 100, 600}}) {
    const std::array<PrefillChunk, 1> chunks{{{query, context}}};
    BatchShape shape = test::decodes(n, before);
    shape.prefill_tokens = query;
    shape.prefills = chunks;
    const Launch launch{.decodes = double(n),
                        .attended = before + 1.0,
                        .chunks = 1,
                        .query = double(query),
                        .context = double(context)};
    EXPECT_NEAR(model.at(shape, ChunkSums::of(shape)).seconds / law(kernel, launch), 1, within) << query;
  }
}

TEST(DealtModel, ChunksAndDecodesShareTheirTiles) { expect_mixed_near_law(samples_of(kernel_of("triton")), 0.03); }

TEST(DealtModel, WithoutBothTogetherEachAloneTellsWhatTheirKernelTakes) {
  std::vector<Sample> samples = samples_of(kernel_of("triton"));
  std::erase_if(samples, [](const Sample& s) { return s.point[0] > 0 && s.point[3] > 0; });
  expect_mixed_near_law(samples, 0.05);
}

TEST(DealtModel, AFewOfTwoLengthsDo) {
  const auto kernel = kernel_of("triton");
  std::vector<Sample> samples = samples_of(kernel);
  int kept = 0;
  std::erase_if(samples, [&](const Sample& s) { return s.point[5] > 0 && ++kept > 6; });
  const AttentionModel model(samples, attention_roofline(key_of("triton"), find_gpu("H200"), {}), {256, 32768});
  BatchShape shape = test::decodes(60, 500);
  shape.decode_context += 7000;  // one of them
  shape.decode_context_squares += 7500 * 7500 - 500 * 500;
  shape.decode_longest = 7500;
  EXPECT_NEAR(model.decode_seconds(shape) / law(kernel, {59, 501, 1, 7501}), 1, 0.05);
}

}  // namespace
}  // namespace dooly::oracle
