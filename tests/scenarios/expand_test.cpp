#include "test_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::scenario {
namespace {

using test::errors;
using test::load;
using test::short_form;
using test::two_pools;

TEST(ShortForm, MakesOnePoolOnOneGroup) {
  const Scenario scenario = load(short_form("tp: 2\nreplicas: 5\n"));
  ASSERT_EQ(scenario.pools.size(), 1u);
  const Pool& pool = scenario.pools[0];
  EXPECT_EQ(pool.name, "main");
  EXPECT_EQ(pool.model.config, "meta-llama/Meta-Llama-3.1-8B");
  EXPECT_EQ(pool.parallel.tp, 2u);
  EXPECT_EQ(pool.replicas, 5u);
  EXPECT_EQ(pool.router.policy, "least_requests");
  EXPECT_EQ(pool.scheduler.policy, "vllm-v1");
  EXPECT_EQ(pool.nodes, (std::vector<NodeRef>{{"main", {}}}));
  ASSERT_EQ(scenario.cluster.nodes.size(), 1u);
  EXPECT_EQ(scenario.cluster.nodes[0].count, 2u);  // 10 GPUs
  EXPECT_EQ(scenario.cluster.nodes[0].gpus, 8u);
  EXPECT_EQ(scenario.oracles, (std::vector<OracleSpec>{RooflineOracleSpec{}}));
  EXPECT_EQ(scenario.platform.host, "default");
  EXPECT_EQ(scenario.name, "s");
}

TEST(ShortForm, EqualsItsFullForm) {
  const Scenario full = load(R"(dooly: 1
name: s
workload:
  - name: default
    synthetic: {requests: 10, arrivals: {process: poisson, rate: 20/s}, prompt_tokens: {fixed: 512}, output_tokens: {fixed: 64}}
cluster: {fabric: {topology: star}, nodes: [{name: main, count: 1, gpu: H200-SXM, gpus: 8, nics: {count: 8}}]}
pools: [{name: main, model: {config: meta-llama/Meta-Llama-3.1-8B}, nodes: [main], parallel: {tp: 4}, replicas: 2}]
)");
  EXPECT_EQ(load(short_form("tp: 4\nreplicas: 2\n")), full);
}

TEST(ShortForm, TakesEngineSchedulerAndRouter) {
  const Scenario scenario =
      load(short_form("engine: {max-num-seqs: 7, max_model_len: 4096}\nscheduler: static\nrouter: random\n"));
  EXPECT_EQ(scenario.pools[0].engine.max_num_seqs, 7u);
  EXPECT_EQ(scenario.pools[0].engine.max_model_len, 4096u);
  EXPECT_EQ(scenario.pools[0].scheduler.policy, "static");
  EXPECT_EQ(scenario.pools[0].router.policy, "random");
}

TEST(ShortForm, CannotStandBesideTheFullForm) {
  EXPECT_EQ(errors(two_pools() + "tp: 2\ngpu: H100-SXM\n"),
            (std::vector<std::string>{"s.yaml:7:5: tp: is the short form and cannot stand beside 'pools'",
                                      "s.yaml:8:6: gpu: is the short form and cannot stand beside 'cluster'"}));
}

TEST(ShortForm, TheDefaultsAreTheEngines) {
  const EngineConfig engine = load(short_form()).pools[0].engine;
  EXPECT_EQ(engine, EngineConfig{});
  EXPECT_EQ(engine.max_num_batched_tokens, 8192u);
  EXPECT_EQ(engine.max_num_seqs, 1024u);
  EXPECT_EQ(engine.gpu_memory_utilization, 0.92);
  EXPECT_TRUE(engine.async_scheduling);
}

TEST(Like, MergesMapsAndReplacesTheRest) {
  const Scenario scenario =
      load(two_pools(", replicas: 2, serves: [default], engine: {max_num_seqs: 8, block_size: 32}",
                     ", engine: {max-num-seqs: 9}, model: {dtype: auto}, serves: []"));
  const Pool& decode = scenario.pools[1];
  EXPECT_EQ(decode.replicas, 2u);
  EXPECT_EQ(decode.engine.max_num_seqs, 9u);
  EXPECT_EQ(decode.engine.block_size, 32u);
  EXPECT_EQ(decode.model.config, "Qwen/Qwen3-8B");
  EXPECT_TRUE(decode.serves.empty());
  EXPECT_EQ(decode.role, Pool::Role::kDecode);
}

std::string pools(std::string_view list) {
  return std::string(R"(dooly: 1
workload:
  - {name: x, synthetic: {requests: 1, arrivals: {process: at_once}, prompt_tokens: 1, output_tokens: 1}}
  - {name: y, synthetic: {requests: 1, arrivals: {process: at_once}, prompt_tokens: 1, output_tokens: 1}}
gpu: H200-SXM
pools:
)")
      .append(list);
}

TEST(Like, ChainsInAnyOrder) {
  const Scenario scenario =
      load(pools("  - {name: c, like: b, role: decode}\n"
                 "  - {name: b, like: a, role: prefill, serves: y, replicas: 3}\n"
                 "  - {name: a, model: Qwen/Qwen3-8B, serves: x, engine: {max_num_seqs: 5}}\n"));
  EXPECT_EQ(scenario.pools[0].replicas, 3u);
  EXPECT_EQ(scenario.pools[0].serves, std::vector<std::string>{"y"});
  EXPECT_EQ(scenario.pools[0].engine.max_num_seqs, 5u);
}

TEST(Like, CirclesAndStrangersAreRefused) {
  const std::vector<std::string> messages =
      errors(pools("  - {name: a, like: b, model: Qwen/Qwen3-8B}\n"
                   "  - {name: b, like: a, model: Qwen/Qwen3-8B}\n"
                   "  - {name: d, like: aa, model: Qwen/Qwen3-8B}\n"));
  const auto has = [&](const char* message) {
    return std::find(messages.begin(), messages.end(), message) != messages.end();
  };
  EXPECT_TRUE(has("s.yaml:8:21: pools.b.like: pools are like each other in a circle, got a"));
  EXPECT_TRUE(has("s.yaml:9:21: pools.d.like: no such pool, did you mean 'a', got aa; allowed: a, b, d"));
}

}  // namespace
}  // namespace dooly::scenario
