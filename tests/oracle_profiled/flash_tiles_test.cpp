#include "oracle_profiled/flash_tiles.hpp"

#include "oracle/operator_keys.hpp"
#include "oracle_profiled/node_grid.hpp"
#include "oracle_profiled/tile_fit.hpp"

#include <gtest/gtest.h>
#include <cmath>

namespace dooly::oracle {
namespace {

using Terms = FlashTiles::Terms;

OperatorKey key_of(std::uint32_t heads, std::uint32_t kv_heads, std::uint32_t window = 0,
                   std::uint32_t head_dim = 128) {
  AttentionWork shape;
  shape.heads = heads, shape.kv_heads = kv_heads, shape.head_dim = head_dim, shape.window = window;
  return attention_key("bfloat16", "bfloat16", shape, "fa3");
}

/// 132 multiprocessors.
FlashTiles tiles_of(std::uint32_t heads, std::uint32_t kv_heads, std::uint32_t window = 0) {
  return *FlashTiles::of(key_of(heads, kv_heads, window), find_gpu("H200"));
}

TEST(FlashTiles, OnlyOfTheKernelAndWidthItKnows) {
  EXPECT_TRUE(FlashTiles::of(key_of(32, 8), find_gpu("H200")));
  EXPECT_FALSE(FlashTiles::of(key_of(32, 8, 0, 64), find_gpu("H200")));
  EXPECT_FALSE(FlashTiles::of(key_of(32, 8), Gpu{}));  // nobody knows its multiprocessors
  OperatorKey other = key_of(32, 8);
  other.family = "flashinfer";
  EXPECT_FALSE(FlashTiles::of(other, find_gpu("H200")));
  OperatorKey pages = key_of(32, 8);
  pages.attributes["block_size"] = std::int64_t{128};
  EXPECT_FALSE(FlashTiles::of(pages, find_gpu("H200")));
}

TEST(FlashTiles, AFewShortDecodesDoNotDelayAChunk) {
  const FlashTiles tiles = tiles_of(32, 8);
  // 120 tiles of some 132 blocks for the chunk alone: one wave. 16 tiles of one block before them leave four of the 120
  // to start when those end, one block later, not when multiprocessors are free on average.
  const double alone = tiles.terms({.chunks = 1, .query = 480, .context = 16384})[FlashTiles::kSchedule];
  for (const double decodes : {2.0, 4.0, 8.0, 16.0}) {
    const double beside = tiles.terms(
        {.decodes = decodes, .attended = 11, .chunks = 1, .query = 480, .context = 16384})[FlashTiles::kSchedule];
    EXPECT_GE(beside, alone) << decodes;
    EXPECT_LE(beside, 1.1 * alone) << decodes;
  }
}

TEST(FlashTiles, OneMoreSequenceIsAWaveMore) {
  const FlashTiles tiles = tiles_of(32, 8);
  EXPECT_DOUBLE_EQ(tiles.decodes_in(1), 16.5);
  const Terms sixteen = tiles.terms({16, 4096}), seventeen = tiles.terms({17, 4096});
  EXPECT_EQ(sixteen[FlashTiles::kWaves], 1);
  EXPECT_DOUBLE_EQ(sixteen[FlashTiles::kTiles], 128.0 / 132);
  EXPECT_EQ(sixteen[FlashTiles::kSplits], 0);
  // 32 blocks, read by 128 of 132.
  EXPECT_DOUBLE_EQ(sixteen[FlashTiles::kSchedule], 32 * 128.0 / 132);
  EXPECT_EQ(seventeen[FlashTiles::kWaves], 2);
  // A full wave, then four tiles that have the memory to themselves: half the time of a block each.
  EXPECT_DOUBLE_EQ(seventeen[FlashTiles::kSchedule], 32 + 16);
}

TEST(FlashTiles, FewSequencesAreSplitOverTheMultiprocessors) {
  const FlashTiles tiles = tiles_of(32, 8);
  // 256 blocks × 8 heads × 1.1 ÷ 132 = 17.07: 18 blocks a share, 15 shares.
  const Terms one = tiles.terms({1, 32768});
  EXPECT_EQ(one[FlashTiles::kSplits], 1);
  EXPECT_DOUBLE_EQ(one[FlashTiles::kTiles], 15 * 8 / 132.0);
  EXPECT_DOUBLE_EQ(one[FlashTiles::kCombine], 15 * 32 / 132.0);
  EXPECT_EQ(one[FlashTiles::kDeepest], 15);
  EXPECT_DOUBLE_EQ(one[FlashTiles::kBlocks], 15 * 8 * 18 / 132.0);
  // Never more than 32 shares, nor less than a block.
  EXPECT_DOUBLE_EQ(tiles_of(16, 1).terms({1, 32768})[FlashTiles::kTiles], 32 / 132.0);
  EXPECT_DOUBLE_EQ(tiles.terms({1, 300})[FlashTiles::kTiles], 3 * 8 / 132.0);
}

TEST(FlashTiles, TheLongestOfAnUnevenBatchIsSplitByTheSumOfAll) {
  const FlashTiles tiles = tiles_of(32, 8);
  // 127 of 8 blocks and one of 64: 1,080 × 8 × 1.1 ÷ 132 = 72 blocks a share, so nothing is split.
  const Terms terms = tiles.terms({.decodes = 127, .attended = 1024, .long_decodes = 1, .long_attended = 8192});
  EXPECT_EQ(terms[FlashTiles::kSplits], 0);
  EXPECT_EQ(terms[FlashTiles::kLongest], 64);
  EXPECT_DOUBLE_EQ(terms[FlashTiles::kBlocks], 1080 * 8 / 132.0);
  // It starts after seven waves, with the last 92 of the others; a tile's start costs 1.5 blocks. First all 100 share
  // the memory, then the eight of the long one take 0.7 of a block's time each.
  EXPECT_NEAR(terms[FlashTiles::kSchedule], 7 * 9.5 + 9.5 * 100 / 132 + 56 * 0.7, 1e-9);
  // Of 256 blocks: 1,272 × 8 × 1.1 ÷ 132 = 84.8, so four shares of 64.
  const Terms split = tiles.terms({.decodes = 127, .attended = 1024, .long_decodes = 1, .long_attended = 32768});
  EXPECT_EQ(split[FlashTiles::kSplits], 1);
  EXPECT_EQ(split[FlashTiles::kLongest], 64);
}

TEST(FlashTiles, BeyondCapturedSizesTheFewestSplitsThatNearlyFillWaves) {
  // 1,088 tokens × 4 heads on two KV heads are 68 tiles, which fill half a wave; 5 splits 86 % of three, 15 nearly all
  // of eight, so 5 may be. The shares are 78 blocks of (32 + 34 × 137) × 2 × 1.1 ÷ 132, and 137 blocks two of them.
  const FlashTiles share = tiles_of(8, 2);
  const Terms split = share.terms({.decodes = 32, .attended = 128, .chunks = 1, .query = 1088, .context = 16384});
  EXPECT_EQ(split[FlashTiles::kSplitKernel], 1);
  EXPECT_EQ(split[FlashTiles::kDeepest], 2);
  EXPECT_DOUBLE_EQ(split[FlashTiles::kTiles], (64 + 2 * 68) / 132.0);
  // 136 tiles of 69 to 65 blocks, and two to start each: four of them follow on one of the others.
  EXPECT_GT(split[FlashTiles::kSchedule], 2 * 67);
  EXPECT_LT(split[FlashTiles::kSchedule], 2 * 71 + 3);
  // 106 tiles are four fifths of the multiprocessors: none is split.
  EXPECT_EQ(share.terms({.chunks = 1, .query = 1696, .context = 16384})[FlashTiles::kSplitKernel], 0);
  EXPECT_EQ(share.terms({.chunks = 1, .query = 1664, .context = 16384})[FlashTiles::kSplitKernel], 1);
  // Nor are four blocks, nor any of more than 992 sequences.
  EXPECT_EQ(share.terms({.chunks = 1, .query = 512 + 1, .context = -1.0})[FlashTiles::kSplitKernel], 0);
  EXPECT_EQ(share.terms({993, 4096})[FlashTiles::kSplitKernel], 0);
  EXPECT_EQ(share.terms({992, 4096})[FlashTiles::kSplitKernel], 1);
}

TEST(FlashTiles, ChunksHaveATileForEvery128RowsOfAKvHead) {
  const FlashTiles tiles = tiles_of(32, 8);
  // 576 tokens × 4 heads = 18 tiles a KV head; more than 512 tokens choose by the tiles, and 144 fill the device.
  const Terms more = tiles.terms({.chunks = 1, .query = 576, .context = 8192});
  EXPECT_EQ(more[FlashTiles::kSplitKernel], 0);
  EXPECT_DOUBLE_EQ(more[FlashTiles::kTiles], 144.0 / 132);
  EXPECT_EQ(more[FlashTiles::kWaves], 2);
  // 448 tokens are within the captured graphs: 14 × 8 tiles of 68 blocks, 64 a share, so two shares.
  const Terms fewer = tiles.terms({.chunks = 1, .query = 448, .context = 8192});
  EXPECT_EQ(fewer[FlashTiles::kSplitKernel], 1);
  EXPECT_DOUBLE_EQ(fewer[FlashTiles::kTiles], 2 * 112 / 132.0);
  // So 128 tokens more take half as long again.
  EXPECT_GT(more[FlashTiles::kSchedule], 1.4 * fewer[FlashTiles::kSchedule]);
  // Up to 64 rows are one small tile.
  EXPECT_DOUBLE_EQ(tiles.terms({.chunks = 1, .query = 16})[FlashTiles::kTiles], 8 / 132.0);
}

TEST(FlashTiles, DecodesBesideALargeChunkAreNotSplit) {
  const FlashTiles tiles = tiles_of(32, 8);
  const Terms terms = tiles.terms({.decodes = 1, .attended = 32768, .chunks = 1, .query = 1024});
  EXPECT_EQ(terms[FlashTiles::kSplitKernel], 0);
  // 256 blocks one after the other, while the chunk would be through after 8 × 32 tiles of about 4.75 blocks.
  EXPECT_GE(terms[FlashTiles::kSchedule], 256);
  EXPECT_DOUBLE_EQ(terms[FlashTiles::kDecodeRead], 256 * 8 / 132.0);
}

TEST(FlashTiles, AWindowEndsTheBlocksAndHasTilesOfManyRows) {
  const FlashTiles tiles = tiles_of(32, 8, 4096);
  const Terms below = tiles.terms({600, 4096}), beyond = tiles.terms({17, 16384});
  EXPECT_EQ(below[FlashTiles::kWindow], 0);
  EXPECT_EQ(beyond[FlashTiles::kWindow], 1);
  EXPECT_DOUBLE_EQ(beyond[FlashTiles::kWindowBlocks], 2 * 33);
  EXPECT_EQ(beyond[FlashTiles::kDecodeRead], 0);
  // A chunk far into its context: every tile goes through the window and its own rows.
  const Terms chunk = tiles.terms({.chunks = 1, .query = 4096, .context = 16384});
  EXPECT_NEAR(chunk[FlashTiles::kBlocks], 128 * 8 * (4096 + 32 + 64) / 128.0 / 132, 1e-9);
}

TEST(TileFit, FindsTheWeightsOfALaw) {
  const FlashTiles tiles = tiles_of(32, 8);
  const auto law = [&](const FlashTiles::Launch& launch) {
    const Terms terms = tiles.terms(launch);
    return 7e-6 + 2e-6 * terms[FlashTiles::kTiles] + 1.9e-6 * terms[FlashTiles::kSchedule];
  };
  std::vector<TileFit::Point> points;
  for (const double n : {1, 3, 8, 17, 40, 100})
    for (const double a : {64, 500, 2048, 9000}) points.push_back({{n, a}, law({n, a})});
  TileFit fit;
  fit.fit(tiles, TileFit::Part::kDecodes, points);
  ASSERT_TRUE(fit.is_fitted());
  EXPECT_LT(fit.error(), 1e-6);
  EXPECT_NEAR(fit.seconds({33, 3000}) / law({33, 3000}), 1, 1e-5);
  EXPECT_NEAR(fit.seconds({34, 3000}) / law({34, 3000}), 1, 1e-5);
  fit.fit({}, TileFit::Part::kDecodes, points);
  EXPECT_FALSE(fit.is_fitted());
}

/// 64 sequences of 8 KV heads are 512 tiles in 4 waves of 132; 768 tokens are 6 blocks. A captured graph serves all
/// lengths, so the kernel of windows runs there within the window, too; beyond 512 decodes it runs where a context is
/// longer.
TEST(FlashTiles, CapturedDecodesRunInTheKernelOfWindows) {
  const FlashTiles tiles = tiles_of(32, 8, 4096);
  Terms terms = tiles.terms({64, 768});
  EXPECT_EQ(terms[FlashTiles::kWindow], 1);
  EXPECT_EQ(terms[FlashTiles::kWindowBlocks], 24);
  EXPECT_EQ(tiles.terms({512, 768})[FlashTiles::kWindow], 1);
  EXPECT_EQ(tiles.terms({513, 768})[FlashTiles::kWindow], 0);
  EXPECT_EQ(tiles.terms({513, 4097})[FlashTiles::kWindow], 1);
  EXPECT_EQ(tiles.terms({.decodes = 8, .attended = 768, .chunks = 1, .query = 64, .context = 0})[FlashTiles::kWindow],
            0);
  EXPECT_EQ(tiles_of(32, 8).terms({64, 768})[FlashTiles::kWindow], 0);
}

TEST(FlashTiles, OfTwoLengthsOnlyReadingGrowsWithinABlock) {
  for (const std::uint32_t window : {0U, 4096U}) {
    const FlashTiles tiles = tiles_of(32, 8, window);
    const FlashTiles::Launch first{.decodes = 40.5, .attended = 901, .long_decodes = 3.25, .long_attended = 5001};
    FlashTiles::Launch later = first;
    ASSERT_TRUE(tiles.steps_of({1, 901, 1, 5001}) == tiles.steps_of({1, 996, 1, 5120}));
    later.attended = 996, later.long_attended = 5120;
    Terms before = tiles.terms(first), after = tiles.terms(later);
    EXPECT_EQ(after[FlashTiles::kDecodeRead] > before[FlashTiles::kDecodeRead], window == 0);
    before[FlashTiles::kDecodeRead] = after[FlashTiles::kDecodeRead] = 0;
    EXPECT_EQ(before, after) << window;
  }
}

TEST(CellIndex, FindsTheCellsOfASearch) {
  const std::vector<double> nodes{0, 1, 2, 3, 16, 64, 128, 129, 256, 257, 4096, 40000};
  const CellIndex index(nodes);
  for (const double x :
       {-1.0, 0.0, 0.3, 1.0, 2.9, 3.0, 15.9, 127.0, 128.0, 128.5, 129.0, 256.5, 4095.9, 39999.0, 40000.0, 1e9})
    EXPECT_EQ(index.cell_of(nodes, x), cell_of(nodes, x)) << x;
}

}  // namespace
}  // namespace dooly::oracle
