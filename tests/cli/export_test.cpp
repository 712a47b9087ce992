#include "dooly_process.hpp"

#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <map>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

/// run -> export -> run must give the same requests.csv.
class RunExportRun : public testing::TestWithParam<std::string> {
 protected:
  Scratch scratch;

  void expect_round_trip(const std::vector<std::string>& scenario) {
    const auto line = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
      words.insert(words.end(), scenario.begin(), scenario.end());
      words.insert(words.end(), more.begin(), more.end());
      words.push_back("--quiet");
      return dooly(words);
    };
    const std::string received = scratch.name("received.csv");
    const ProcessResult first = line({"run"}, {"--out", scratch.name("one"), "--export", received});
    ASSERT_EQ(first.code, 0) << first.err;
    const ProcessResult second = line({"run"}, {"--out", scratch.name("two"), "--set",
                                                "workload={trace: {format: dooly, path: '" + received + "'}}"});
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_TRUE(read_file(scratch / "one" / "requests.csv") == read_file(scratch / "two" / "requests.csv"));
    const ProcessResult exported = line({"workload", "export"}, {"--out", scratch.name("exported.csv")});
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_TRUE(read_file(received) == read_file(scratch / "exported.csv"));
  }
};

/// The settings that keep a shipped scenario short; its workload may not be touched twice, so no other keys of it.
const std::map<std::string, std::vector<std::string>> kShorter = {
    {"plugin-policy", {"--set", std::string("scheduler={plugin: '") + EXAMPLES_PLUGIN + "', policy: shortest-job}"}}};

TEST_P(RunExportRun, OfEveryShippedScenario) {
  const fs::path file = dooly::test::source_path("scenarios/" + GetParam() + ".yaml");
  std::vector<std::string> scenario{file.string()};
  if (const auto more = kShorter.find(GetParam()); more != kShorter.end())
    scenario.insert(scenario.end(), more->second.begin(), more->second.end());
  std::vector<std::string> check{"check"};
  check.insert(check.end(), scenario.begin(), scenario.end());
  if (const ProcessResult checked = dooly(check); checked.code != 0) {
    ASSERT_TRUE(checked.err.find("no such file") != std::string::npos ||
                checked.err.find("DOOLY_DATA") != std::string::npos)
        << checked.err;
    GTEST_SKIP() << checked.err;
  }
  expect_round_trip(scenario);
}
INSTANTIATE_TEST_SUITE_P(Shipped, RunExportRun,
                         testing::Values("quickstart", "azure-conversation", "mooncake-prefix", "multi-turn",
                                         "kv-pressure", "disaggregated", "plugin-policy"));

TEST_F(RunExportRun, OfAClosedLoopThatOnlyASimulationCanExport) {
  const std::string file = scratch.file(
      "loop.yaml",
      "dooly: 1\nmodel: meta-llama/Llama-3.1-8B\ngpu: H200-SXM\ntp: 1\nreplicas: 2\n"
      "workload: {synthetic: {requests: 300, arrivals: {process: closed_loop, concurrency: 7, think_time: {uniform: "
      "[100ms, 2s]}}, prompt_tokens: {uniform: [20, 900]}, output_tokens: {uniform: [1, 60]}}}\n");
  expect_round_trip({file});
}

}  // namespace
}  // namespace dooly::cli
