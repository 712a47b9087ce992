#include "program_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace dooly::e2e {
namespace {

using nlohmann::json;

Sets operator+(Sets one, const Sets& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

void expect_all_complete(const RunResult& run, std::size_t requests) {
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  EXPECT_EQ(run.requests.size(), requests);
  EXPECT_EQ(run.requests.count("status", "completed"), requests);
  std::set<std::string> ids;
  for (std::size_t i = 0; i < run.requests.size(); ++i) ids.insert(run.requests.text(i, "id"));
  EXPECT_EQ(ids.size(), requests) << "each request once";
}

double output_rate(const RunResult& run) { return run.summary.at("throughput").at("output_tokens_per_s"); }
double preemptions(const RunResult& run) { return run.requests.sum("preemptions"); }

const std::string kClosed = "workload.synthetic.arrivals={process: closed_loop, concurrency: ";

/// Requests of 512 + 128 tokens hold 40 blocks at their end, so 2,720 blocks hold 68 of them.
TEST(KvCache, AThousandClientsGetNoMoreThanTheRequestsThatFit) {
  const Sets common{"engine.num_gpu_blocks_override=2721", "workload.synthetic.prompt_tokens=512",
                    "workload.synthetic.output_tokens=128"};
  const RunResult crowd =
      run_scenario("synthetic.yaml", common + Sets{"workload.synthetic.requests=20480", kClosed + "1024}"});
  expect_all_complete(crowd, 20480);
  const RunResult fits =
      run_scenario("synthetic.yaml", common + Sets{"workload.synthetic.requests=2048", kClosed + "68}"});
  EXPECT_NEAR(output_rate(crowd) / output_rate(fits), 1, 0.15);
  const json& pool = crowd.summary.at("pools").at(0);
  EXPECT_LT(pool.at("iterations").at("mean_requests"), 85) << "a request holds 32 to 40 blocks";
  EXPECT_GT(pool.at("kv").at("peak_share"), 0.98);
}

class LongPromptAmongMany : public testing::TestWithParam<const char*> {};

/// 1,664 blocks; a prompt of 1,024 blocks, computed in chunks of 128, comes when others hold two thirds.
TEST_P(LongPromptAmongMany, IsServedAfterABoundedNumberOfPreemptions) {
  std::string trace = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 5000; ++i) {
    if (i == 500) trace += std::to_string(i * 0.02) + ",16384,16\n";
    trace += std::to_string(i * 0.02) + ",256,192\n";
  }
  const RunResult run = run_trace("exact.yaml", trace,
                                  {"engine.num_gpu_blocks_override=1665", "engine.max_num_batched_tokens=2048",
                                   std::string("engine.scheduler_reserve_full_isl=") + GetParam(),
                                   "oracle={kind: fixed, base: 5ms, per_token: 2us}"});
  expect_all_complete(run, 5001);
  EXPECT_LE(run.requests.number(run.requests.row_of(500), "preemptions"), 20);
  EXPECT_LE(preemptions(run), 5001);
}
INSTANTIATE_TEST_SUITE_P(ReserveFullPrompt, LongPromptAmongMany, testing::Values("true", "false"));

/// 900 blocks, 200 requests of 48 blocks at 2,000/s on four replicas.
TEST(KvCache, ABurstOverFourSmallCachesEnds) {
  const RunResult run = run_scenario(
      "synthetic.yaml", {"replicas=4", "engine.num_gpu_blocks_override=900", "workload.synthetic.requests=200",
                         "workload.synthetic.arrivals={process: constant, rate: 2000/s}"});
  expect_all_complete(run, 200);
}

class Overload : public testing::TestWithParam<int> {};

/// 500 blocks hold ten requests of 48. The four replicas can do some 32 requests/s.
TEST_P(Overload, HasBoundedEventsAndNoCascades) {
  const RunResult run = run_scenario(
      "synthetic.yaml",
      {"replicas=4", "engine.num_gpu_blocks_override=500", "workload.synthetic.requests=600",
       "workload.synthetic.arrivals.rate=" + std::to_string(32 * GetParam()) + "/s", "output.iterations=csv"});
  expect_all_complete(run, 600);
  const std::vector<double> preempted = run.iterations.numbers("preempted");
  EXPECT_LE(*std::max_element(preempted.begin(), preempted.end()), 2) << "preemptions of one step";
  EXPECT_LE(preemptions(run), 3 * 600);
  EXPECT_LE(run.iterations.size(), 600u * 256) << "no more steps than tokens";
}
INSTANTIATE_TEST_SUITE_P(TimesCapacity, Overload, testing::Values(2, 5, 10));

/// 200 blocks, a common prefix of 512 tokens, 30 requests/s.
TEST(KvCache, PrefixCachingStarvesNobodyAndLosesNothing) {
  const Sets common{"engine.num_gpu_blocks_override=200",    "workload.synthetic.requests=1000",
                    "workload.synthetic.arrivals.rate=30/s", "workload.synthetic.prompt_tokens=640",
                    "workload.synthetic.output_tokens=64",   "workload.synthetic.prefix={groups: 1, tokens: 512}"};
  const RunResult off = run_scenario("synthetic.yaml", common + Sets{"engine.enable_prefix_caching=false"});
  const RunResult on = run_scenario("synthetic.yaml", common + Sets{"engine.enable_prefix_caching=true"});
  expect_all_complete(off, 1000);
  expect_all_complete(on, 1000);
  EXPECT_GE(output_rate(on), output_rate(off));
  EXPECT_EQ(off.summary.at("tokens").at("cached"), 0);
  EXPECT_GT(on.summary.at("tokens").at("cached"), 900 * 512);
}

/// 50 blocks of which 49 can be used: 784 tokens. The last token of the output is never stored, so 700 + 85 fits.
TEST(KvCache, ARequestLongerThanTheCacheIsRejectedAtArrival) {
  std::string trace = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 10; ++i)
    trace += std::to_string(i * 0.1) + (i == 4 ? ",700,86\n" : i == 5 ? ",700,85\n" : ",100,20\n");
  const RunResult run = run_trace("exact.yaml", trace, {"engine.num_gpu_blocks_override=50"});
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  EXPECT_EQ(run.requests.count("status", "completed"), 9u);
  EXPECT_EQ(run.requests.text(4, "status"), "rejected");
  EXPECT_EQ(run.requests.text(4, "reason"), "needs more KV blocks than an empty replica has");
  EXPECT_EQ(run.requests.text(4, "scheduled_s"), "");
  EXPECT_EQ(run.requests.text(4, "pool"), "");
  EXPECT_EQ(run.summary.at("requests").at("reasons"), json({{"needs more KV blocks than an empty replica has", 1}}));
}

/// 200 blocks (3,184 tokens usable). Turns add 400 + 60 tokens: turn t ends at 460 t, the seventh would at 3,220.
TEST(KvCache, ASessionEndsWithTheTurnThatOutgrowsTheCache) {
  const RunResult run = run_scenario(
      "exact.yaml", {"engine.num_gpu_blocks_override=200",
                     "workload={sessions: {sessions: 3, turns: 9, arrivals: {process: constant, rate: 1/s}, "
                     "first_prompt: 400, turn_prompt: 400, output_tokens: 60, think_time: 1s}}"});
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  EXPECT_EQ(run.requests.size(), 21u) << "no turn 8";
  EXPECT_EQ(run.requests.count("status", "completed"), 18u);
  EXPECT_EQ(run.requests.count("reason", "needs more KV blocks than an empty replica has"), 3u);
  for (std::size_t i = 0; i < run.requests.size(); ++i)
    EXPECT_EQ(run.requests.text(i, "status") == "rejected", run.requests.number(i, "prompt_tokens") == 6 * 460 + 400);
}

/// 200 blocks; five of a thousand requests need more than all of them.
TEST(KvCache, ExactlyTheFiveThatNeedMoreThanAllBlocksAreRejected) {
  std::string trace = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 1000; ++i) trace += std::to_string(i * 0.05) + (i % 200 == 100 ? ",3000,300\n" : ",300,30\n");
  const RunResult run = run_trace("exact.yaml", trace, {"engine.num_gpu_blocks_override=200"});
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  EXPECT_EQ(run.requests.count("status", "completed"), 995u);
  for (const int id : {100, 300, 500, 700, 900})
    EXPECT_EQ(run.requests.text(run.requests.row_of(id), "reason"), "needs more KV blocks than an empty replica has");
}

}  // namespace
}  // namespace dooly::e2e
