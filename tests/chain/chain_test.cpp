// The whole chain on a processor, by the programs that a user starts: trace, profile into a store, serve a trace by the
// built-in engine, and predict that run. What is decided must be equal; how far times are off is bench/chain's to
// print.
#include "dooly_process.hpp"
#include "golden_log.hpp"
#include "log_replay.hpp"
#include "replica_core/kv_cache.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kRequests = 40;  // of the scenarios
constexpr const char* kBounds =
    "bounds:\n"
    "  decisions.batches: {differences: 0}\n"
    "  decisions.free_blocks: {differences: 0}\n"
    "  decisions.preempted: {differences: 0}\n";

/// `dooly` with words that hold no spaces.
ProcessResult run_words(const std::string& line) {
  std::istringstream words(line);
  return dooly({std::istream_iterator<std::string>(words), {}});
}

/// A model's folder with its scenarios, its store and what was served.
class Chain : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const fs::path source = test::source_path("tests/chain");
    fs::copy(source / GetParam(), scratch_ / GetParam());
    const std::string text = read_file(source / (std::string(GetParam()) + ".yaml"));
    write_scenario("async", text, "true");
    write_scenario("sync", text, "false");
  }

  void write_scenario(const std::string& kind, std::string text, const std::string& is_async) {
    const std::string engine = "engine:\n";
    text.insert(text.find(engine) + engine.size(), "  async_scheduling: " + is_async + "\n");
    scratch_.file(kind + ".yaml", text);
  }

  std::string config() const { return (scratch_ / GetParam() / "config.json").string(); }
  std::string scenario(const std::string& kind) const { return scratch_.name(kind + ".yaml"); }

  void profile() {
    const ProcessResult done = run_words(
        "profile model " + config() + " --device cpu --backend torch --dtype float32 --max-num-batched-tokens 128 " +
        "--max-num-seqs 16 --max-model-len 512 --max-kv-tokens 3200 --target 30% --store " + scratch_.name("store"));
    ASSERT_EQ(done.code, 0) << done.err;
  }

  void serve(const std::string& kind) {
    const ProcessResult done =
        run_words("profile serve " + config() + " --workload " + scratch_.name("trace.csv") + " --dtype float32 " +
                  "--max-num-batched-tokens 128 --max-num-seqs 16 --num-gpu-blocks-override 200 --out " +
                  scratch_.name(kind) + (kind == "sync" ? " --no-async-scheduling" : ""));
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_NE(done.out.find("40 requests in "), std::string::npos) << done.out;
  }

  /// The log of the served run through the simulator's replica, under both of its caches.
  void expect_equal_decisions(const std::string& kind) {
    const golden::GoldenLog log = golden::GoldenLog::read(scratch_ / kind / "decisions/run.decisions.jsonl.gz");
    ASSERT_GT(log.rows.size(), 40U);
    for (const bool with_ids : {false, true}) {
      golden::LogReplay replay(log, with_ids ? replica::make_block_kv_cache(log.config) : nullptr);
      for (std::size_t i = 0; i < log.rows.size(); ++i)
        ASSERT_EQ(replay.step(log.rows[i]), log.rows[i]) << kind << ", row " << i << (with_ids ? ", block ids" : "");
    }
  }

  /// The scenario's own engine under the arrivals and times of the log.
  void expect_valid(const std::string& kind) {
    const std::string file =
        scratch_.file("validate-" + kind + ".yaml", "measurement: {format: vllm-h200-groundtruth, path: ./" + kind +
                                                        "/run}\nscenario: ./" + kind + ".yaml\n" + kBounds);
    const ProcessResult done = run_words("validate " + file);
    EXPECT_EQ(done.code, 0) << done.out << done.err;
  }

  Scratch scratch_;
};

TEST_P(Chain, TheServedRunAndItsPredictionDecideTheSame) {
  const ProcessResult trace = run_words("profile trace " + config() + " --backend torch --dtype float32");
  EXPECT_EQ(trace.code, 0) << trace.err;  // 4 for a dimension without label or an operation that is not planned
  EXPECT_NE(trace.out.find("equal to the step plan"), std::string::npos) << trace.out;

  ASSERT_NO_FATAL_FAILURE(profile());
  // The scenario has no roofline behind the store: an operator that was not measured would refuse the run.
  const ProcessResult run = run_words("run " + scenario("async") + " --format json --quiet");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out).at("requests").at("completed"), kRequests);

  ASSERT_EQ(run_words("workload export " + scenario("async") + " --out " + scratch_.name("trace.csv")).code, 0);
  for (const std::string kind : {"async", "sync"}) {
    ASSERT_NO_FATAL_FAILURE(serve(kind));
    expect_equal_decisions(kind);
    expect_valid(kind);
  }
}

TEST_P(Chain, WhatCannotBeServedIsRefused) {
  const std::string trace = scratch_.file("trace.csv",
                                          "# dooly-trace 1\nid,arrival_s,prompt_tokens,output_tokens\n"
                                          "0,0,900,300\n");
  const std::string command =
      "profile serve " + config() + " --workload " + trace + " --out " + scratch_.name("served") + " --quiet ";
  const auto refusal = [&](const std::string& more) {
    const ProcessResult done = run_words(command + more);
    EXPECT_EQ(done.code, 2) << done.err;
    return done.err;
  };
  EXPECT_EQ(refusal(""), "--num-gpu-blocks-override: needed, how many blocks the KV cache has\n");
  EXPECT_EQ(refusal("--num-gpu-blocks-override 200"),
            "request 0 of the workload (900 + 300 tokens, at 0 s): longer than the model length 1024\n");
  scratch_.file("trace.csv", "# dooly-trace 1\nid,arrival_s,prompt_tokens,output_tokens\n0,0,9,3\n");
  EXPECT_EQ(refusal("--num-gpu-blocks-override 200 --policy lifo"),
            "--policy: unknown policy, got lifo; allowed: vllm-v1, static\n");
}

INSTANTIATE_TEST_SUITE_P(Models, Chain, testing::Values("llama", "moe"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace dooly::cli
