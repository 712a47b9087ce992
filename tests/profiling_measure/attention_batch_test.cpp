#include "profiling_measure/attention_batch.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

TEST(AttentionBatch, DecodesComeFirstWithTheLongOnesSpread) {
  const AttentionBatch batch = attention_batch({2, 300, 50, 4, 100, 2, 9000});
  ASSERT_EQ(batch.requests.size(), 6U);
  EXPECT_EQ(batch.requests[0].context, 100U);
  EXPECT_EQ(batch.requests[1].context, 9000U);
  EXPECT_EQ(batch.requests[2].context, 100U);
  EXPECT_EQ(batch.requests[3].context, 9000U);
  EXPECT_EQ(batch.requests[4].query, 300U);
  EXPECT_EQ(batch.requests[5].context, 50U);
  EXPECT_EQ(batch.tokens, 604U);
  EXPECT_EQ(batch.cached, 2 * 101U + 2 * 9001U + 2 * 350U);
  EXPECT_EQ(batch.max_query, 300U);
  EXPECT_EQ(batch.max_sequence, 9001U);
}

TEST(AttentionBatch, ImpossiblePointsAreRefused) {
  EXPECT_THROW(attention_batch({0, 0, 0, 0, 0, 0, 0}), ProfilingError);
  EXPECT_THROW(attention_batch({1, 0, 0, 0, 0, 0, 0}), ProfilingError);
  EXPECT_THROW(attention_batch({0, 0, 0, 2, 10, 3, 100}), ProfilingError);
}

}  // namespace
}  // namespace dooly::profiling
