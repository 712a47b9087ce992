#include "program_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dooly::e2e {
namespace {

constexpr double kBytes = 1000 * 131072.0;  // a prompt of exact-split.yaml
constexpr double kLatency = 2e-6;

double transfer_s(const Sets& sets) {
  const RunResult run = run_trace("exact-split.yaml", "arrival_s,prompt_tokens,output_tokens\n0,1000,2\n", sets);
  EXPECT_EQ(run.process.code, 0) << run.process.err;
  return run.requests.number(0, "transfer_s");
}

/// Each level of the network has a bandwidth of its own: NVLink within a machine (450 GB/s, no switch), a 400 Gbps
/// card, a slower port, an up-link shared by a leaf.
TEST(Network, EveryLevelHasItsOwnBandwidth) {
  EXPECT_NEAR(transfer_s({}), kLatency + kBytes / 50e9, 1e-9);
  EXPECT_NEAR(transfer_s({"cluster.nodes.d.nics.bandwidth=100Gbps"}), kLatency + kBytes / 12.5e9, 1e-9);
  EXPECT_NEAR(transfer_s({"cluster.fabric.link={bandwidth: 200Gbps, latency: 10us}"}), 10e-6 + kBytes / 25e9, 1e-9);
  EXPECT_NEAR(transfer_s({"cluster.fabric={topology: fat_tree, nodes_per_leaf: 1, oversubscription: 4}"}),
              kLatency + kBytes / 12.5e9, 1e-9);
  EXPECT_NEAR(transfer_s({"cluster.nodes.p.gpus=2", "pools.decode.nodes=p"}), kBytes / 450e9, 1e-9);
  EXPECT_NEAR(transfer_s({"cluster.nodes.p.gpus=2", "cluster.nodes.p.nvlink=300GB/s", "pools.decode.nodes=p"}),
              kBytes / 300e9, 1e-9);
}

/// Device times of the one iteration with this many tokens, seconds.
struct Step {
  double compute, collective;
};
Step step_of(const Sets& sets, double tokens) {
  const RunResult run = run_trace("roofline.yaml", "arrival_s,prompt_tokens,output_tokens\n0,4096,2\n", sets);
  EXPECT_EQ(run.process.code, 0) << run.process.err;
  for (std::size_t i = 0; i < run.iterations.size(); ++i)
    if (run.iterations.number(i, "tokens") == tokens)
      return {run.iterations.number(i, "token_ops_s") + run.iterations.number(i, "attention_s"),
              run.iterations.number(i, "collective_s")};
  ADD_FAILURE() << "no iteration of " << tokens << " tokens";
  return {};
}

/// Eight ranks of a model of experts on one machine with NVLink, and on two machines of four GPUs and 400 Gbps a GPU.
TEST(Network, RanksOverTwoMachinesPayForTheCrossing) {
  const Sets moe{"pools.main.model=Qwen/Qwen3-30B-A3B", "pools.main.parallel.tp=8"};
  Sets apart = moe;
  apart.insert(apart.end(), {"cluster.nodes.n.gpus=4", "cluster.nodes.n.count=2"});
  const Step one = step_of(moe, 4096), two = step_of(apart, 4096);
  EXPECT_DOUBLE_EQ(one.compute, two.compute);
  // 97 all-reduces (two a layer, one for the embedding) of 4,096 x 2,048 x 2 B over a ring: each rank sends 2 x 7/8 of
  // it, at three quarters of 450 or of 50 GB/s.
  const double sent = 97 * 2 * 7.0 / 8 * 4096 * 2048 * 2;
  EXPECT_NEAR(two.collective - one.collective, sent / 0.75 * (1 / 50e9 - 1 / 450e9), 0.02 * two.collective);
}

/// A mixed iteration reads the weights once: it takes less than its parts do apart, and no less than the longer one.
TEST(Network, AMixedIterationIsNotTheSumOfItsParts) {
  std::string decodes = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 32; ++i) decodes += "0,512,400\n";
  const auto times = [](const std::string& trace, double tokens, double prefill) {
    const RunResult run = run_trace("roofline.yaml", trace);
    for (std::size_t i = 0; i < run.iterations.size(); ++i)
      if (run.iterations.number(i, "tokens") == tokens && run.iterations.number(i, "prefill_tokens") == prefill)
        return run.iterations.number(i, "token_ops_s") + run.iterations.number(i, "attention_s");
    ADD_FAILURE() << "no iteration of " << tokens << " tokens";
    return 0.0;
  };
  const double decode = times(decodes, 32, 0);
  const double prefill = times("arrival_s,prompt_tokens,output_tokens\n0,1024,2\n", 1024, 1024);
  const double mixed = times(decodes + "1,1024,2\n", 1056, 1024);
  EXPECT_GT(mixed, std::max(decode, prefill));
  EXPECT_LT(mixed, decode + prefill);
}

/// Prompts of 1,024 to 65,536, one at a time: TTFT grows smoothly, between linearly and quadratically.
TEST(Network, LongPromptsGrowSmoothly) {
  std::string trace = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0, tokens = 1024; tokens <= 65536; tokens *= 2, ++i)
    trace += std::to_string(i * 100) + "," + std::to_string(tokens) + ",1\n";
  const RunResult run =
      run_trace("roofline.yaml", trace, {"platform=none", "pools.main.engine.enable_prefix_caching=false"});
  ASSERT_EQ(run.requests.size(), 7u) << run.process.err;
  double before = 0;
  for (std::size_t i = 1; i < 7; ++i) {
    const double ratio = run.requests.number(i, "ttft_s") / run.requests.number(i - 1, "ttft_s");
    EXPECT_GT(ratio, 1.8) << i;
    EXPECT_LT(ratio, 4.0) << i;
    EXPECT_GT(ratio, before - 0.05) << i;
    before = ratio;
  }
}

}  // namespace
}  // namespace dooly::e2e
