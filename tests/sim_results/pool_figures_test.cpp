#include "results/pool_figures.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dooly::results {
namespace {

std::vector<replica::ReplicaStats> two_replicas() {
  replica::ReplicaStats busy;
  busy.iterations = 30, busy.scheduled_tokens = 3000, busy.scheduled_requests = 120;
  busy.prefill_s = 2, busy.decode_s = 5, busy.mixed_s = 1;
  busy.preemptions = 3, busy.prompt_tokens = 1000, busy.cached_tokens = 250;
  busy.peak_blocks = 80, busy.block_seconds = 400;
  busy.roofline_s = 6, busy.measured_s = 2, busy.stated_error_s = 0.4;
  replica::ReplicaStats quiet;
  quiet.iterations = 10, quiet.scheduled_tokens = 1000, quiet.scheduled_requests = 40;
  quiet.decode_s = 2, quiet.peak_blocks = 20, quiet.block_seconds = 100;
  return {busy, quiet};
}

TEST(PoolFigures, AddUpOverReplicas) {
  const PoolFigures pool = pool_figures(two_replicas(), 100, 10);
  EXPECT_EQ(pool.iterations, 40U);
  EXPECT_EQ(pool.mean_tokens, 100);
  EXPECT_EQ(pool.mean_requests, 4);
  EXPECT_DOUBLE_EQ(pool.prefill_share, 0.1);
  EXPECT_DOUBLE_EQ(pool.decode_share, 0.35);
  EXPECT_DOUBLE_EQ(pool.mixed_share, 0.05);
  EXPECT_DOUBLE_EQ(pool.idle_share, 0.5);
  EXPECT_DOUBLE_EQ(pool.kv_peak_share, 0.8);
  EXPECT_DOUBLE_EQ(pool.kv_mean_share, 0.25);  // 500 block seconds of 100 blocks x 10 s x 2
  EXPECT_EQ(pool.preemptions, 3U);
  EXPECT_DOUBLE_EQ(pool.prefix_hit_share, 0.25);
}

TEST(PoolFigures, OfAnIdlePoolAreZero) {
  const PoolFigures pool = pool_figures(std::vector<replica::ReplicaStats>(1), 0, 0);
  EXPECT_EQ(pool.mean_tokens, 0);
  EXPECT_EQ(pool.idle_share, 1);
  EXPECT_EQ(pool.kv_mean_share, 0);
}

TEST(OracleFigures, AreSharesOfPredictedTime) {
  const OracleFigures oracle = oracle_figures(two_replicas());
  EXPECT_DOUBLE_EQ(oracle.roofline, 0.75);
  EXPECT_DOUBLE_EQ(oracle.measured, 0.25);
  EXPECT_EQ(oracle.extrapolated, 0);
  ASSERT_TRUE(oracle.stated_error);
  EXPECT_DOUBLE_EQ(*oracle.stated_error, 0.05);
}

TEST(OracleFigures, NoErrorIsStatedWhereNoOracleStatesOne) {
  std::vector<replica::ReplicaStats> replicas = two_replicas();
  for (replica::ReplicaStats& replica : replicas) replica.stated_error_s = 0;
  EXPECT_FALSE(oracle_figures(replicas).stated_error);
}

}  // namespace
}  // namespace dooly::results
