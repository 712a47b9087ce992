#include "scenarios/write.hpp"
#include "test_files.hpp"

#include <gtest/gtest.h>

namespace dooly::scenario {
namespace {

using test::load;
using test::two_pools;

TEST(Scenario, PoolsOfAClass) {
  const Scenario scenario = load(two_pools());
  EXPECT_EQ(scenario.entry_pool("default"), 0u);
  EXPECT_EQ(scenario.decode_pool("default"), 1u);
}

TEST(Scenario, SlosOfClasses) {
  const Scenario scenario = load(R"(dooly: 1
model: Qwen/Qwen3-8B
gpu: H200-SXM
workload:
  - {name: a, synthetic: {requests: 1, arrivals: {process: at_once}, prompt_tokens: 1, output_tokens: 1}, slo: {ttft: 1s}}
  - {name: b, synthetic: {class: x, requests: 1, arrivals: {process: at_once}, prompt_tokens: 1, output_tokens: 1}, slo: {x: {tpot: 5ms}}}
)");
  EXPECT_EQ(scenario.slo_of("a").ttft_s, 1.0);
  EXPECT_EQ(scenario.slo_of("x").tpot_s, 0.005);
  EXPECT_TRUE(scenario.slo_of("unheard-of").is_empty());
}

TEST(Scenario, InputFilesCarryTheirKeys) {
  const Scenario scenario = load(R"(dooly: 1
model: ./config.json
gpu: H200-SXM
scheduler: {plugin: plugin.so, policy: mine}
workload:
  synthetic: {arrivals: {process: replay, path: numbers.txt}, prompt_tokens: {empirical: numbers.txt}, output_tokens: 1}
)");
  std::vector<std::string> keys;
  for (const InputFile& file : input_files(scenario)) keys.push_back(file.key + " " + file.path.filename().string());
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "workload.default.synthetic.arrivals.path numbers.txt",
                      "workload.default.synthetic.prompt_tokens.empirical.path numbers.txt",
                      "pools.main.model.config config.json",
                      "pools.main.scheduler.plugin plugin.so",
                  }));
}

TEST(Scenario, ResolvedTextIsSortedAndKnowsNoPaths) {
  const Scenario scenario = load(test::short_form("model: x\n").substr(0, test::short_form().size()));
  const std::string text = resolved_text(scenario, [](const std::filesystem::path&) { return "HASH"; });
  EXPECT_EQ(text.substr(0, text.find('\n')), "cluster.fabric.link.bandwidth = default");
  const Scenario other = load(test::short_form(), {"seed=0", "replicas=1"});
  EXPECT_EQ(resolved_text(other, [](const std::filesystem::path&) { return "HASH"; }), text);
  const Scenario from_file =
      load("dooly: 1\nmodel: ./config.json\ngpu: H200-SXM\nworkload: {trace: {format: azure, path: azure.csv}}\n");
  const std::string hashed = resolved_text(from_file, [](const std::filesystem::path&) { return "HASH"; });
  EXPECT_NE(hashed.find("pools[0].model.config = HASH"), std::string::npos);
  EXPECT_NE(hashed.find("workload[0].trace.path = HASH"), std::string::npos);
  EXPECT_EQ(hashed.find("azure.csv"), std::string::npos);
}

}  // namespace
}  // namespace dooly::scenario
