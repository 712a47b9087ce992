#include "profiling_sweep/dense_grid.hpp"

#include "held_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::profiling {
namespace {

std::size_t count_if(const std::vector<oracle::SamplePoint>& points, auto&& predicate) {
  return static_cast<std::size_t>(std::count_if(points.begin(), points.end(), predicate));
}

TEST(DenseGrid, OfTokensGrowsCoarserByOctaves) {
  const auto points = dense_grid(norm(4096), {.max_batched_tokens = 8192});
  // 1, 2, 4; 8 … 1,016 by 8; 1,024 … 2,032 by 16; … 4,096 … 8,128 by 64; 8,192
  EXPECT_EQ(points.size(), 3u + 127 + 64 + 64 + 64 + 1);
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
  EXPECT_EQ(points.back()[0], 8192u);
  EXPECT_EQ(count_if(points, [](const auto& p) { return p[0] > 4096 && p[0] % 64 != 0; }), 0u);
}

TEST(DenseGrid, OfAttentionIsChunksAndEqualDecodesTimesCachedTokens) {
  const SweepLimits limits{.max_batched_tokens = 512, .max_sequences = 4, .max_context = 1024, .max_kv_tokens = 4096};
  const auto points = dense_grid(attention(), limits);
  // cached: 0, 32 … 992; decodes: 1 … 4 sequences, never an empty cache
  EXPECT_EQ(count_if(points, [](const auto& p) { return p[3] > 0; }), 4u * 31);
  EXPECT_EQ(count_if(points, [](const auto& p) { return p[0] == 1 && p[2] == 0; }),
            16u + 13);  // 4 … 124 by 8; 128 … 512
  EXPECT_EQ(count_if(points, [](const auto& p) { return p[0] > 0 && p[3] > 0; }), 0u);
  for (const auto& point : points) EXPECT_LE(point[1] + point[2], limits.max_context);
}

TEST(DenseGrid, KeepsWithinTheCache) {
  const SweepLimits limits{.max_sequences = 64, .max_context = 4096, .max_kv_tokens = 8192};
  for (const auto& point : dense_grid(attention(), limits)) EXPECT_LE(point[3] * point[4], limits.max_kv_tokens);
}

}  // namespace
}  // namespace dooly::profiling
