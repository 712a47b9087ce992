#include "program_run.hpp"

#include "oracle/sha256.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>

namespace dooly::e2e {
namespace {

namespace fs = std::filesystem;

/// A shipped scenario and what makes it short.
struct Shipped {
  std::string name;
  Sets sets;
};

void PrintTo(const Shipped& scenario, std::ostream* out) { *out << scenario.name; }

const std::vector<Shipped>& shipped() {
  static const std::vector<Shipped> all{
      {"quickstart", {"workload.synthetic.requests=500"}},
      {"azure-conversation", {"workload.trace.limit=2000"}},
      {"mooncake-prefix", {"workload.trace.limit=500"}},
      {"multi-turn", {"workload.sessions.sessions=80"}},
      {"kv-pressure", {"workload.synthetic.requests=500"}},
      {"disaggregated", {"workload.synthetic.requests=500"}},
      {"plugin-policy",
       {"workload.synthetic.requests=400",
        std::string("scheduler={plugin: '") + EXAMPLES_PLUGIN + "', policy: shortest-job, options: {aging: 50}}"}},
      {"scale-10240-gpus",
       {"workload.synthetic.requests=2000", "workload.synthetic.arrivals.rate=250/s", "pools.prefill.replicas=8"}}};
  return all;
}

class EveryShippedScenario : public testing::TestWithParam<Shipped> {
 protected:
  std::string file() const { return test::source_path("scenarios/" + GetParam().name + ".yaml").string(); }
  const Sets& sets() const { return GetParam().sets; }
  Sets with(const std::string& set) const {
    Sets all = sets();
    all.push_back(set);
    return all;
  }
  void SetUp() override {
    std::vector<std::string> line{"check", file()};
    for (const std::string& word : as_arguments(sets())) line.push_back(word);
    const cli::ProcessResult checked = cli::dooly(line);
    if (checked.code == 0) return;
    const bool no_data =
        checked.err.find("no such file") != std::string::npos || checked.err.find("DOOLY_DATA") != std::string::npos;
    if (!no_data) FAIL() << checked.err;
    GTEST_SKIP() << checked.err;
  }
  RunResult run_it(const Sets& with_sets, const std::vector<std::string>& more = {}) const {
    RunResult result = run_scenario(file(), with_sets, more);
    EXPECT_EQ(result.process.code, 0) << result.process.err;
    EXPECT_FALSE(result.requests_text.empty());
    return result;
  }
};

/// The summary without the hashes of scenario and inputs: of scenarios that differ but must give the same results, of
/// versions whose scenarios have other defaults, of plug-ins that another compiler made.
std::string results_alone(const std::string& summary) {
  static const std::regex kHash("\"sha256\": \"[0-9a-f]*\"");
  static const std::regex kInputs("\"inputs\": \\[[^\\]]*\\]");
  return std::regex_replace(std::regex_replace(summary, kHash, "\"sha256\": \"\""), kInputs, "\"inputs\": []");
}

/// Committed results, of the roofline: a shipped store may grow. DOOLY_WRITE_EXPECTED=1 in the environment writes them
/// anew.
TEST_P(EveryShippedScenario, GivesTheCommittedBytes) {
  const RunResult run = run_it(with("oracle=roofline"));
  const std::string got =
      results_alone(run.summary_text) + "requests.csv sha256 " + oracle::sha256_hex(run.requests_text) + "\n";
  const fs::path file = test::source_path("tests/e2e/expected/" + GetParam().name + ".txt");
  if (std::getenv("DOOLY_WRITE_EXPECTED") != nullptr) std::ofstream(file, std::ios::binary) << got;
  EXPECT_EQ(got, cli::read_file(file)) << "DOOLY_WRITE_EXPECTED=1 writes " << file;
}

TEST_P(EveryShippedScenario, GivesTheSameBytesTwiceAtOnceAndWithSetsReordered) {
  const cli::Scratch scratch;
  Sets reversed = sets();
  std::reverse(reversed.begin(), reversed.end());
  std::vector<std::unique_ptr<cli::DoolyProcess>> processes;
  for (const auto& [name, order] : std::map<std::string, Sets>{{"a", sets()}, {"b", sets()}, {"c", reversed}}) {
    std::vector<std::string> line{"run", file(), "--quiet", "--out", scratch.name(name)};
    for (const std::string& word : as_arguments(order)) line.push_back(word);
    processes.push_back(std::make_unique<cli::DoolyProcess>(line));
  }
  for (const auto& process : processes) ASSERT_EQ(process->wait().code, 0);
  for (const char* name : {"summary.json", "requests.csv"}) {
    const std::string text = cli::read_file(scratch / "a" / name);
    EXPECT_FALSE(text.empty());
    EXPECT_TRUE(text == cli::read_file(scratch / "b" / name)) << name;
    EXPECT_TRUE(text == cli::read_file(scratch / "c" / name)) << name;
  }
}

/// A run that writes its iterations makes every step by itself; without, steps are computed ahead.
TEST_P(EveryShippedScenario, GivesTheSameBytesStepByStep) {
  const RunResult ahead = run_it(sets()), step_by_step = run_it(with("output.iterations=csv"));
  EXPECT_GT(step_by_step.iterations.size(), 0u);
  EXPECT_TRUE(ahead.requests_text == step_by_step.requests_text);
  EXPECT_EQ(results_alone(ahead.summary_text), results_alone(step_by_step.summary_text));
}

TEST_P(EveryShippedScenario, GivesTheSameRequestsFromItsOwnExport) {
  const cli::Scratch scratch;
  const std::string received = scratch.name("received.csv");
  const RunResult one = run_it(sets(), {"--export", received});
  Sets replay;
  for (const std::string& set : sets())
    if (set.rfind("workload", 0) != 0) replay.push_back(set);
  replay.push_back("workload={trace: {format: dooly, path: '" + received + "'}}");
  const RunResult two = run_it(replay);
  EXPECT_TRUE(one.requests_text == two.requests_text);
}

INSTANTIATE_TEST_SUITE_P(Shipped, EveryShippedScenario, testing::ValuesIn(shipped()), [](const auto& instance) {
  std::string name = instance.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// The same on a scenario with everything that is awkward: classes, preemptions, rejections, several replicas.
TEST(Determinism, StepByStepWithClassesAndPreemptions) {
  const RunResult ahead = run_scenario("two-classes.yaml", {"output.iterations=none", "output.decisions=none"});
  const RunResult step_by_step = run_scenario("two-classes.yaml");
  ASSERT_EQ(ahead.process.code, 0) << ahead.process.err;
  EXPECT_TRUE(ahead.requests_text == step_by_step.requests_text);
  EXPECT_EQ(results_alone(ahead.summary_text), results_alone(step_by_step.summary_text));
}

/// Clients that answer at once to an engine whose steps all end at the same instants: causes come before effects in the
/// export too.
TEST(Determinism, AClosedLoopOfWholeMillisecondsFromItsOwnExport) {
  const cli::Scratch scratch;
  const std::string received = scratch.name("received.csv");
  const Sets engine{"platform=none", "oracle={kind: fixed, base: 10ms}", "replicas=2", "engine.max_num_seqs=4"};
  Sets loop = engine;
  loop.push_back(
      "workload={synthetic: {requests: 300, arrivals: {process: closed_loop, concurrency: 9}, prompt_tokens: {uniform: "
      "[1, 100]}, output_tokens: {uniform: [1, 3]}}}");
  Sets replay = engine;
  replay.push_back("workload={trace: {format: dooly, path: '" + received + "'}}");
  const RunResult one = run_scenario("synthetic.yaml", loop, {"--export", received});
  const RunResult two = run_scenario("synthetic.yaml", replay);
  ASSERT_EQ(one.process.code, 0) << one.process.err;
  EXPECT_TRUE(one.requests_text == two.requests_text);
}

/// The largest shipped scenario in its full width: 1,280 replicas.
TEST(Determinism, TenThousandGpusFromTheirOwnExport) {
  const cli::Scratch scratch;
  const std::string file = test::source_path("scenarios/scale-10240-gpus.yaml").string();
  const std::string received = scratch.name("received.csv");
  const RunResult one = run_scenario(file, {"workload.synthetic.requests=5000"}, {"--export", received});
  const RunResult two = run_scenario(file, {"workload={trace: {format: dooly, path: '" + received + "'}}"});
  ASSERT_EQ(one.process.code, 0) << one.process.err;
  EXPECT_TRUE(one.requests_text == two.requests_text);
  EXPECT_EQ(one.requests.size(), 5000u);
}

/// So many steps that some end within a nanosecond before a transfer does; those that are computed ahead do not.
TEST(Determinism, TenThousandGpusStepByStep) {
  const std::string file = test::source_path("scenarios/scale-10240-gpus.yaml").string();
  const RunResult ahead = run_scenario(file, {"workload.synthetic.requests=10000"});
  const RunResult step_by_step = run_scenario(file, {"workload.synthetic.requests=10000", "output.iterations=csv"});
  ASSERT_EQ(ahead.process.code, 0) << ahead.process.err;
  EXPECT_TRUE(ahead.requests_text == step_by_step.requests_text);
  EXPECT_EQ(results_alone(ahead.summary_text), results_alone(step_by_step.summary_text));
}

}  // namespace
}  // namespace dooly::e2e
