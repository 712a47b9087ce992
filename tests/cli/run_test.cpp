#include "dooly_process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

class Run : public testing::Test {
 protected:
  Scratch scratch;
  std::string scenario = scratch.file("small.yaml", small_scenario());

  ProcessResult run_to(const std::string& directory, std::vector<std::string> more = {}) {
    std::vector<std::string> line{"run", scenario, "--quiet", "--out", scratch.name(directory)};
    line.insert(line.end(), more.begin(), more.end());
    return dooly(line);
  }
  std::set<std::string> files_in(const std::string& directory) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(scratch / directory)) names.insert(entry.path().filename());
    return names;
  }
  void expect_same(const std::string& one, const std::string& other) {
    for (const char* file : {"summary.json", "requests.csv"}) {
      const std::string text = read_file(scratch / one / file);
      EXPECT_FALSE(text.empty());
      EXPECT_TRUE(text == read_file(scratch / other / file)) << file << " of " << one << " and " << other;
    }
  }
};

TEST_F(Run, WithoutOutPrintsTheSummaryAndWritesNothing) {
  const ProcessResult result = dooly({"run", scenario}, {.directory = scratch.path()});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("200 submitted, all completed"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("TTFT"), std::string::npos);
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << "colours in a pipe";
  EXPECT_EQ(files_in("."), std::set<std::string>{"small.yaml"});
}

TEST_F(Run, OutGetsSummaryRequestsAndTiming) {
  const ProcessResult result = dooly({"run", scenario, "--out", scratch.name("out")});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "results in " + scratch.name("out") + "\n");
  EXPECT_EQ(files_in("out"), (std::set<std::string>{"summary.json", "requests.csv", "timing.json"}));
  const auto summary = nlohmann::json::parse(read_file(scratch / "out" / "summary.json"));
  EXPECT_EQ(summary.at("requests").at("completed"), 200);
  EXPECT_EQ(summary.at("scenario").at("name"), "small");
  EXPECT_EQ(summary.at("scenario").at("sha256").get<std::string>().size(), 64u);
  const auto timing = nlohmann::json::parse(read_file(scratch / "out" / "timing.json"));
  for (const char* stage : {"load", "build", "simulate", "write"}) EXPECT_TRUE(timing.at("stages_s").contains(stage));
  EXPECT_GT(timing.at("requests_per_cpu_s"), 0);
}

TEST_F(Run, IterationsAndDecisionsComeOnRequest) {
  ASSERT_EQ(run_to("out", {"--set", "output.iterations=csv", "--set", "output.decisions=jsonl"}).code, 0);
  EXPECT_EQ(files_in("out"), (std::set<std::string>{"summary.json", "requests.csv", "timing.json", "iterations.csv",
                                                    "decisions.jsonl"}));
  EXPECT_GT(fs::file_size(scratch / "out" / "iterations.csv"), 1000u);
  EXPECT_GT(fs::file_size(scratch / "out" / "decisions.jsonl"), 1000u);
}

TEST_F(Run, IterationsWithoutOutAreNotLostSilently) {
  const ProcessResult result = dooly({"run", scenario, "--set", "output.iterations=csv"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "warning: output: iterations and decisions need --out DIR and are not written\n");
}

TEST_F(Run, FormatJsonPrintsTheSummaryFile) {
  const ProcessResult result = run_to("out", {"--format", "json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, read_file(scratch / "out" / "summary.json"));
  EXPECT_EQ(result.err, "");
}

TEST_F(Run, TwoRunsGiveTheSameBytes) {
  ASSERT_EQ(run_to("one").code, 0);
  ASSERT_EQ(run_to("two").code, 0);
  expect_same("one", "two");
}

TEST_F(Run, TwoRunsAtOnceGiveTheSameBytes) {
  DoolyProcess one({"run", scenario, "--quiet", "--out", scratch.name("one")});
  DoolyProcess two({"run", scenario, "--quiet", "--out", scratch.name("two")});
  ASSERT_EQ(one.wait().code, 0);
  ASSERT_EQ(two.wait().code, 0);
  expect_same("one", "two");
}

TEST_F(Run, TheOrderOfSetDoesNotMatter) {
  ASSERT_EQ(run_to("one", {"--set", "replicas=3", "--set", "engine.max_num_seqs=64", "--seed", "5"}).code, 0);
  ASSERT_EQ(run_to("two", {"--seed", "5", "--set", "engine.max_num_seqs=64", "--set", "replicas=3"}).code, 0);
  expect_same("one", "two");
}

TEST_F(Run, SeedIsSetSeed) {
  ASSERT_EQ(run_to("one", {"--seed", "9"}).code, 0);
  ASSERT_EQ(run_to("two", {"--set", "seed=9"}).code, 0);
  ASSERT_EQ(run_to("three", {"--seed", "10"}).code, 0);
  expect_same("one", "two");
  EXPECT_NE(read_file(scratch / "one" / "requests.csv"), read_file(scratch / "three" / "requests.csv"));
}

TEST_F(Run, WhatExplainPrintsRunsTheSame) {
  const ProcessResult explained = dooly({"explain", scenario});
  ASSERT_EQ(explained.code, 0);
  EXPECT_NE(explained.out.find("GiB of KV cache"), std::string::npos) << explained.out;
  const std::string full = scratch.file("full.yaml", explained.out);
  ASSERT_EQ(run_to("one").code, 0);
  ASSERT_EQ(dooly({"run", full, "--quiet", "--out", scratch.name("two")}).code, 0);
  expect_same("one", "two");
}

TEST_F(Run, TheResultsNameNoPlaceOfThisMachine) {
  scratch.file("trace.csv", "arrival_s,prompt_tokens,output_tokens\n0,10,10\n1,20,5\n");
  const std::string replay = scratch.file("replay.yaml",
                                          "dooly: 1\nname: replay\nmodel: meta-llama/Llama-3.1-8B\ngpu: H200-SXM\n"
                                          "tp: 1\nreplicas: 1\n"
                                          "workload: {trace: {format: dooly, path: trace.csv}}\n");
  ASSERT_EQ(dooly({"run", replay, "--quiet", "--out", scratch.name("one")}).code, 0);
  const std::string summary = read_file(scratch / "one" / "summary.json");
  EXPECT_EQ(summary.find(scratch.path()), std::string::npos);
  const auto inputs = nlohmann::json::parse(summary).at("scenario").at("inputs");
  std::vector<std::string> names;
  for (const auto& input : inputs) names.push_back(input.at("name"));
  EXPECT_EQ(std::count(names.begin(), names.end(), "trace.csv"), 1);
  EXPECT_GE(std::count(names.begin(), names.end(), "h200-vllm.jsonl.zst"), 1) << "the shipped store";
  for (const std::string& name : names) EXPECT_EQ(name.find('/'), std::string::npos) << name;
  // The same files elsewhere are the same scenario.
  const Scratch elsewhere;
  fs::copy(scratch / "trace.csv", elsewhere / "trace.csv");
  fs::copy(scratch / "replay.yaml", elsewhere / "replay.yaml");
  ASSERT_EQ(dooly({"run", elsewhere.name("replay.yaml"), "--quiet", "--out", scratch.name("two")}).code, 0);
  expect_same("one", "two");
}

}  // namespace
}  // namespace dooly::cli
