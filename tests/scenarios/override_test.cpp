#include "test_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::scenario {
namespace {

using test::errors;
using test::load;
using test::short_form;
using test::two_pools;
using Messages = std::vector<std::string>;

TEST(Set, AddressesPoolsByName) {
  const Scenario scenario = load(two_pools(), {"pools.decode.replicas=8", "pools.decode.engine.max-num-seqs=16"});
  EXPECT_EQ(scenario.pools[0].replicas, 1u);
  EXPECT_EQ(scenario.pools[1].replicas, 8u);
  EXPECT_EQ(scenario.pools[1].engine.max_num_seqs, 16u);
}

TEST(Set, AppliesBeforeLike) {
  EXPECT_EQ(load(two_pools(), {"pools.prefill.engine.block_size=32"}).pools[1].engine.block_size, 32u);
}

TEST(Set, ShortAndLongKeysOfTheShortForm) {
  EXPECT_EQ(load(short_form(), {"replicas=4"}).pools[0].replicas, 4u);
  EXPECT_EQ(load(short_form(), {"pools.main.replicas=4"}).pools[0].replicas, 4u);
  EXPECT_EQ(load(short_form(), {"pools.main.replicas=20"}).cluster.nodes[0].count, 3u);
  EXPECT_EQ(load(short_form(), {"cluster.nodes.main.nics.bandwidth=100Gbps"}).cluster.nodes[0].nics.bytes_per_s,
            12.5e9);
  EXPECT_EQ(load(short_form(), {"engine.max-num-seqs=3"}).pools[0].engine.max_num_seqs, 3u);
}

TEST(Set, ReachesThroughShorthands) {
  const Scenario scenario =
      load(short_form("scheduler: vllm-v1\n"),
           {"pools.main.model.dtype=float16", "workload.synthetic.prompt_tokens.fixed=7",
            "pools.main.scheduler.options.alpha=0.3", "platform.host.update=1ms", "platform.base=h200-vm"});
  EXPECT_EQ(scenario.pools[0].model.dtype, "float16");
  EXPECT_EQ(scenario.pools[0].scheduler.options.at("alpha"), "0.3");
  EXPECT_EQ(scenario.platform.terms.at("update"), 0.001);
  EXPECT_EQ(scenario.platform.base, "h200-vm");
  EXPECT_EQ(std::get<Fixed>(std::get<SyntheticSpec>(scenario.workloads[0].source).prompt_tokens).value, 7);
}

TEST(Set, TakesYamlValues) {
  const Scenario scenario =
      load(short_form(), {"workload.synthetic.prompt_tokens={uniform: [1, 9]}", "pools.main.serves=[default]"});
  EXPECT_EQ(std::get<SyntheticSpec>(scenario.workloads[0].source).prompt_tokens, Distribution(Uniform{1, 9}));
  EXPECT_EQ(scenario.pools[0].serves, Messages{"default"});
}

TEST(Set, GoesThroughTheSameChecks) {
  EXPECT_EQ(
      errors(two_pools(), {"pools.decode.replicas=0", "pools.decod.replicas=2", "workload.synthetic.arrivals.rate=3",
                           "nmae=x", "pools.prefill.parallel.tq=3", "pools.decode=3", "name.x=3"}),
      (Messages{
          "--set pools.decode.replicas=0: pools.decode.replicas: must be a whole number from 1 to 1000000, got 0",
          "--set pools.decod.replicas=2: pools: has no member 'decod', did you mean 'decode'; allowed: prefill, "
          "decode",
          "--set workload.synthetic.arrivals.rate=3: workload.synthetic.arrivals.rate: needs a unit, got 3; allowed: a "
          "number and one of /s, /min, /h, as in 20/s",
          "--set nmae=x: nmae: unknown key, did you mean 'name'; allowed: dooly, name, seed, workload, cluster, pools, "
          "kv_transfer, platform, oracle, output, model, gpu, tp, replicas, engine, scheduler, router",
          "--set pools.prefill.parallel.tq=3: pools.prefill.parallel.tq: unknown key, did you mean 'tp'; allowed: tp, "
          "pp, dp, ep",
          "--set pools.decode=3: pools: name a key inside 'decode'",
          "--set name.x=3: name: has no member 'x'",
      }));
}

TEST(Set, TheOrderDoesNotMatter) {
  std::vector<std::string> sets = {"pools.decode.replicas=8", "seed=3", "name=x", "workload.synthetic.requests=99"};
  const Scenario first = load(two_pools(), sets);
  std::reverse(sets.begin(), sets.end());
  EXPECT_EQ(load(two_pools(), sets), first);
}

TEST(Set, AKeyGivenTwiceIsRefused) {
  EXPECT_EQ(errors(short_form(), {"seed=1", "seed=2"}),
            Messages{"--set seed=2: seed: is set twice, also by --set seed=1"});
  EXPECT_EQ(errors(short_form(), {"tp=1", "pools.main.parallel.tp=2"}),
            Messages{"--set pools.main.parallel.tp=2: pools.main.parallel.tp: is set twice, also by --set tp=1"});
  EXPECT_EQ(
      errors(short_form(), {"workload.synthetic.prompt_tokens={fixed: 3}", "workload.synthetic.prompt_tokens.fixed=4"})
          .size(),
      1u);
  EXPECT_EQ(
      errors(short_form(), {"workload.synthetic.prompt_tokens.fixed=4", "workload.synthetic.prompt_tokens={fixed: 3}"})
          .size(),
      1u);
  EXPECT_EQ(errors(two_pools(), {"pools.0.replicas=2", "pools.prefill.replicas=2"}).size(), 1u);
}

TEST(Set, SyntaxIsChecked) {
  EXPECT_EQ(errors(short_form(), {"seed"}), Messages{"--set seed: must be KEY=VALUE, as in pools.decode.replicas=8"});
  EXPECT_EQ(errors(short_form(), {"=3"}), Messages{"--set =3: must be KEY=VALUE, as in pools.decode.replicas=8"});
  EXPECT_EQ(errors(short_form(), {"a..b=3"}),
            Messages{"--set a..b=3: must be KEY=VALUE, as in pools.decode.replicas=8"});
  EXPECT_EQ(errors(short_form(), {"seed=[1"}),
            Messages{"--set seed=[1: seed: a key must be a plain word (or a bracket is not closed)"});
  EXPECT_EQ(errors(short_form(), {"seed="}),
            Messages{"--set seed=: seed: must be a whole number from 0 to 9007199254740992, got ''"});
}

TEST(Set, PathsStartAtTheWorkingDirectory) {
  const std::vector<std::string> messages = errors(short_form(), {"scheduler={plugin: gone.so, policy: x}"});
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("no such file: " + (std::filesystem::current_path() / "gone.so").string()),
            std::string::npos);
}

TEST(Set, NullTakesAKeyOut) {
  const Scenario scenario = load(
      short_form("replicas: 3\nengine: {max_num_seqs: 8, num_gpu_blocks_override: 99}\n"),
      {"replicas=null", "engine.max_num_seqs=null", "pools.main.engine.num_gpu_blocks_override=null", "seed=null"});
  EXPECT_EQ(scenario.pools[0].replicas, 1u);
  EXPECT_EQ(scenario.pools[0].engine.max_num_seqs, 1024u);
  EXPECT_FALSE(scenario.pools[0].engine.num_gpu_blocks_override);
  EXPECT_EQ(errors(short_form(), {"workload.synthetic.prompt_tokens=null"}),
            Messages{"s.yaml:4:23: workload.synthetic.prompt_tokens: is required"});
}

}  // namespace
}  // namespace dooly::scenario
