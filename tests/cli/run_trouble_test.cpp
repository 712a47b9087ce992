#include "dooly_process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

class RunTrouble : public testing::Test {
 protected:
  Scratch scratch;
  std::string scenario = scratch.file("small.yaml", small_scenario());
  /// 5,000 requests, no file longer than so many bytes.
  ProcessResult on_a_disk_of(std::uint64_t bytes) {
    return dooly({"run", scenario, "--set", "workload.synthetic.requests=5000", "--out", scratch.name("out")},
                 {.file_size = bytes});
  }
  std::vector<std::string> breaking(const std::string& rule) {
    return {"run",   scenario,
            "--out", scratch.name("out"),
            "--set", std::string("pools.main.scheduler.plugin=") + BREAKER_PLUGIN,
            "--set", "pools.main.scheduler.policy=breaker",
            "--set", "pools.main.scheduler.options.rule=" + rule};
  }
};

TEST_F(RunTrouble, ADirectoryWithResultsIsRefusedUnlessForced) {
  const std::vector<std::string> line{"run", scenario, "--quiet", "--out", scratch.name("out")};
  ASSERT_EQ(dooly(line).code, 0);
  const ProcessResult again = dooly(line);
  EXPECT_EQ(again.code, 2);
  EXPECT_EQ(again.out, "");
  EXPECT_EQ(again.err,
            scratch.name("out") + ": holds results of an earlier run (summary.json); --force replaces them\n");
  std::vector<std::string> forced = line;
  forced.push_back("--force");
  EXPECT_EQ(dooly(forced).code, 0);
}

TEST_F(RunTrouble, AnUnwritableOutIsRefusedBeforeWorkStarts) {
  // So many requests that the test would time out if the run started.
  const ProcessResult result =
      dooly({"run", scenario, "--set", "workload.synthetic.requests=1000000000", "--out", "/proc/nowhere"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "/proc/nowhere: cannot create the output directory: No such file or directory\n");
  const ProcessResult file = dooly({"run", scenario, "--out", scenario});
  EXPECT_EQ(file.code, 2);
  EXPECT_EQ(file.err, scenario + ": is not a directory\n");
}

TEST_F(RunTrouble, ARefusedScenarioLeavesNoDirectory) {
  EXPECT_EQ(dooly({"run", scenario, "--set", "replicas=0", "--out", scratch.name("out")}).code, 2);
  EXPECT_EQ(dooly({"run", scenario, "--set", "model=meta-llama/Llama-3.1-405B", "--out", scratch.name("out")}).code, 2);
  EXPECT_FALSE(fs::exists(scratch / "out"));
}

TEST_F(RunTrouble, TwoRunsInOneDirectoryDoNotMix) {
  DoolyProcess first(
      {"run", scenario, "--quiet", "--set", "workload.synthetic.requests=1000000000", "--out", scratch.name("out")});
  for (int i = 0; i < 500 && !fs::exists(scratch / "out" / ".requests.csv.dooly-tmp"); ++i) ::usleep(20'000);
  const ProcessResult second = dooly({"run", scenario, "--force", "--out", scratch.name("out")});
  EXPECT_EQ(second.code, 2);
  EXPECT_EQ(second.err, scratch.name("out") + ": another run is writing there\n");
}

TEST_F(RunTrouble, AFullDiskLeavesTheSummaryAndSaysSo) {
  const ProcessResult result = on_a_disk_of(100'000);
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("requests.csv.dooly-tmp: cannot write: File too large\n"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("partial results in " + scratch.name("out")), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("PARTIAL"), std::string::npos) << result.out;
  EXPECT_FALSE(fs::exists(scratch / "out" / "requests.csv"));
  EXPECT_TRUE(fs::exists(scratch / "out" / "summary.json"));
  EXPECT_EQ(read_file(scratch / "out" / "PARTIAL"), "a result file could not be written\n");
}

TEST_F(RunTrouble, ADiskTooFullForTheSummaryLeavesNoFolderAndNamesNone) {
  const ProcessResult result = on_a_disk_of(2'000);
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("summary.json.dooly-tmp: cannot write: File too large\n"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("results in "), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(scratch / "out"));
}

TEST_F(RunTrouble, AStallNamesTheRequestsAndMarksTheResults) {
  const ProcessResult result = dooly(breaking("nothing"));
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("stalled: 200 requests cannot go on\n"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("request 0 on main.0: waits for admission"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("and 180 more\n"), std::string::npos) << result.err;
  EXPECT_EQ(read_file(scratch / "out" / "PARTIAL"), "stalled: 200 requests cannot go on\n");
  const auto summary = nlohmann::json::parse(read_file(scratch / "out" / "summary.json"));
  EXPECT_EQ(summary.at("requests").at("unfinished"), 200);
}

TEST_F(RunTrouble, ABreachOfAPolicyNamesTheRule) {
  const ProcessResult result = dooly(breaking("no_blocks"));
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("admission without an allocation"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("scheduling call"), std::string::npos) << result.err;
}

TEST_F(RunTrouble, APolicysOwnTroubleIsNotOurBug) {
  const ProcessResult result = dooly(breaking("throw"));
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("the policy's own trouble"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("bug"), std::string::npos) << result.err;
}

TEST_F(RunTrouble, ABadRowDeepInALargeTraceIsFoundByCheckAndEndsARun) {
  std::string rows = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 1'100'000; ++i) rows += std::to_string(i / 50) + ",100,1\n";  // more than are read ahead
  const std::string trace = scratch.file("large.csv", rows + "30000,100,x\n");
  const std::string replay =
      scratch.file("replay.yaml",
                   "dooly: 1\nmodel: meta-llama/Llama-3.1-8B\ngpu: H200-SXM\ntp: 1\nreplicas: 4\n"
                   "workload: {trace: {format: dooly, path: large.csv}}\n");
  const std::string message = trace + ":1100002: row 1100001: output_tokens: want a whole number, got 'x'";
  const ProcessResult checked = dooly({"check", replay});
  EXPECT_EQ(checked.code, 2);
  EXPECT_EQ(checked.err, message + "\n");
  const ProcessResult run = dooly({"run", replay, "--quiet"});
  EXPECT_EQ(run.code, 3);
  EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
}

TEST_F(RunTrouble, ImpossibleRequestsAreRejectedWithTheReason) {
  const ProcessResult result =
      dooly({"run", scenario, "--quiet", "--out", scratch.name("out"), "--set", "pools.main.engine.max_model_len=500"});
  EXPECT_EQ(result.code, 0);
  const std::string rows = read_file(scratch / "out" / "requests.csv");
  EXPECT_NE(rows.find(",rejected,prompt and output exceed max_model_len\n"), std::string::npos);
}

}  // namespace
}  // namespace dooly::cli
