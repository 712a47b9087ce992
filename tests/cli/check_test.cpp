#include "dooly_process.hpp"

#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

namespace dooly::cli {
namespace {

TEST(Check, AcceptsWhatCanRun) {
  const Scratch scratch;
  const std::string scenario = scratch.file("small.yaml", small_scenario());
  const ProcessResult result = dooly({"check", scenario});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, scenario + ": ok\n");
  EXPECT_EQ(result.err, "");
}

TEST(Check, NamesEveryMistakeWithItsPlace) {
  const Scratch scratch;
  scratch.file("bad.yaml",
               "dooly: 1\n"
               "model: meta-llama/Llama-3.1-8B\n"
               "gpu: H200-SXM\n"
               "tp: 1\n"
               "replicas: 0\n"
               "workload: {synthetic: {requets: 5, arrivals: {process: poisson, rate: 20}, prompt_tokens: {fixed: 5}, "
               "output_tokens: {fixed: 5}}}\n");
  const ProcessResult result = dooly({"check", "bad.yaml"}, {.directory = scratch.path()});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  std::vector<std::string> starts{"bad.yaml:5:11: replicas: must be a whole number from 1 to 1000000, got 0",
                                  "bad.yaml:6:24: workload.synthetic.requets: unknown key, did you mean 'requests'",
                                  "bad.yaml:6:71: workload.synthetic.arrivals.rate: needs a unit"};
  for (const std::string& start : starts) EXPECT_NE(result.err.find(start), std::string::npos) << result.err;
}

TEST(Check, GoesOnAfterABadFile) {
  const Scratch scratch;
  const std::string good = scratch.file("good.yaml", small_scenario());
  const std::string bad = scratch.file("bad.yaml", small_scenario() + "colour: red\n");
  const ProcessResult result = dooly({"check", bad, good, scratch.name("absent.yaml")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, good + ": ok\n");
  EXPECT_NE(result.err.find(bad + ":13:1: colour: unknown key"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(scratch.name("absent.yaml") + ": no such file\n"), std::string::npos) << result.err;
}

TEST(Check, AModelThatDoesNotFitItsGpuIsNamedByFileAndPool) {
  const Scratch scratch;
  const std::string scenario = scratch.file("small.yaml", small_scenario());
  const ProcessResult result = dooly({"check", scenario, "--set", "model=meta-llama/Llama-3.1-405B"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err.substr(0, scenario.size() + 13), scenario + ": pools.main:") << result.err;
}

TEST(Check, ReadsTracesToTheirLastRow) {
  const Scratch scratch;
  scratch.file("trace.csv", "# dooly-trace 1\narrival_s,prompt_tokens,output_tokens\n0,10,10\n1,10,0\n");
  const std::string scenario = scratch.file("replay.yaml",
                                            "dooly: 1\nmodel: meta-llama/Llama-3.1-8B\ngpu: H200-SXM\ntp: 1\n"
                                            "replicas: 1\nworkload: {trace: {format: dooly, path: trace.csv}}\n");
  const ProcessResult result = dooly({"check", scenario});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("trace.csv:4: row 2: output_tokens:"), std::string::npos) << result.err;
  EXPECT_EQ(dooly({"run", scenario}).code, 2);
}

TEST(Check, SetGoesThroughTheSameChecks) {
  const Scratch scratch;
  const std::string scenario = scratch.file("small.yaml", small_scenario());
  const ProcessResult result = dooly({"check", scenario, "--set", "replicas=0", "--set", "sed=3"});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("--set replicas=0: replicas: must be a whole number from 1 to 1000000, got 0\n"),
            std::string::npos);
  EXPECT_NE(result.err.find("--set sed=3: sed: unknown key, did you mean 'seed'"), std::string::npos);
}

TEST(Check, SeedIsNamedAsItWasTyped) {
  const Scratch scratch;
  const std::string scenario = scratch.file("small.yaml", small_scenario());
  const ProcessResult result = dooly({"run", scenario, "--seed", "abc"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "--seed abc: seed: must be a whole number from 0 to 9007199254740992, got abc\n");
  EXPECT_EQ(dooly({"run", scenario, "--seed", "7", "--set", "seed=8"}).code, 2);
}

TEST(Check, TheShippedQuickstartIsAccepted) {
  EXPECT_EQ(dooly({"check", dooly::test::source_path("scenarios/quickstart.yaml").string()}).code, 0);
}

}  // namespace
}  // namespace dooly::cli
