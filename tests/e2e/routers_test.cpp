#include "program_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace dooly::e2e {
namespace {

using nlohmann::json;

/// Two replicas serve class A, one serves B; the classes alternate. Counters are per pool: A's replicas take turns.
TEST(Routers, EachPoolCountsForItself) {
  std::string trace = "arrival_s,prompt_tokens,output_tokens,class\n";
  for (int i = 0; i < 400; ++i) trace += std::to_string(i * 0.01) + ",64,8," + (i % 2 == 0 ? "A" : "B") + "\n";
  const RunResult run = run_trace("two-models.yaml", trace);
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    EXPECT_EQ(run.requests.text(i, "pool"), i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(run.requests.number(i, "replica"), i % 2 == 0 ? (i / 2) % 2 : 0) << i;
  }
}

struct Delayed {
  double ttft_p90;
  std::vector<double> idle;
};

/// 800 clients over 8 replicas, 1,000 tokens in and out on average, the shortest queue as it was some time ago. TTFT
/// without the burst at the start.
Delayed with_delay(const std::string& delay) {
  const RunResult run = run_scenario(
      "synthetic.yaml", {"replicas=8", "router.signal_delay=" + delay,
                         "workload.synthetic={requests: 4000, arrivals: {process: closed_loop, concurrency: 800}, "
                         "prompt_tokens: {uniform: [500, 1500]}, output_tokens: {uniform: [500, 1500]}}"});
  EXPECT_EQ(run.process.code, 0) << run.process.err;
  Delayed seen;
  std::vector<double> ttft;
  for (std::size_t i = 800; i < run.requests.size(); ++i) ttft.push_back(run.requests.number(i, "ttft_s"));
  seen.ttft_p90 = percentile(ttft, 90);
  for (const json& replica : run.summary.at("pools").at(0).at("replicas"))
    seen.idle.push_back(replica.at("iterations").at("time_share").at("idle"));
  return seen;
}

TEST(Routers, OldSignalsMakeWavesThatShowPerReplica) {
  const Delayed now = with_delay("0s"), recent = with_delay("50ms"), old = with_delay("1s"),
                ancient = with_delay("15s");
  EXPECT_LT(now.ttft_p90, recent.ttft_p90);
  EXPECT_LT(recent.ttft_p90, old.ttft_p90);
  EXPECT_LT(old.ttft_p90, ancient.ttft_p90);
  const auto most_idle = [](const Delayed& seen) { return *std::max_element(seen.idle.begin(), seen.idle.end()); };
  EXPECT_LT(most_idle(now), 0.05);
  EXPECT_GT(most_idle(old), 0.3);
  EXPECT_GT(most_idle(ancient), most_idle(old));
}

/// 80 prefixes of 64 blocks; a replica's 3,000 blocks hold half of them beside the running requests.
TEST(Routers, PrefixAwareFindsThePrefixesThatOthersSpread) {
  const auto hits = [](const std::string& router) {
    const RunResult run =
        run_scenario("synthetic.yaml", {"replicas=4", "engine.num_gpu_blocks_override=3000", "router=" + router,
                                        "workload.synthetic={requests: 2000, arrivals: {process: poisson, rate: 20/s}, "
                                        "prompt_tokens: {uniform: [1100, 1500]}, output_tokens: {uniform: [50, 150]}, "
                                        "prefix: {groups: 80, tokens: 1024}}"});
    EXPECT_EQ(run.requests.count("status", "completed"), 2000u) << run.process.err;
    const double share = run.summary.at("pools").at(0).at("kv").at("prefix_hit_share");
    EXPECT_NEAR(share, run.requests.sum("cached_tokens") / run.requests.sum("prompt_tokens"), 1e-12);
    return share;
  };
  EXPECT_GT(hits("prefix_aware"), 1.5 * hits("round_robin"));
}

}  // namespace
}  // namespace dooly::e2e
