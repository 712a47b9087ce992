#include "program_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::e2e {
namespace {

using nlohmann::json;

constexpr double kExact = 1e-9;
const std::string kHeader = "arrival_s,prompt_tokens,output_tokens\n";

bool says(const RunResult& run, const std::string& text) { return run.process.err.find(text) != std::string::npos; }

/// Three rounds with 0.5 s and 0.25 s of tool time. A step takes 10 ms + 0.1 ms a token. Known KV before a round: the
/// conversation but its last token, in full blocks: 101 -> 96, 303 -> 288.
const std::string kAgent =
    "arrival_s,prompt_tokens,output_tokens,session,turn,after_s\n0,100,2,1,1,0\n,300,4,1,2,0.5\n,500,2,1,3,0.25\n";

TEST(Traces, RoundsOfAnAgentComeAfterTheSimulatedAnswers) {
  const RunResult run = run_trace("exact.yaml", kAgent);
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  const Table& rows = run.requests;
  EXPECT_NEAR(rows.number(0, "finish_s"), 0.020 + 0.0101, kExact);
  EXPECT_NEAR(rows.number(1, "arrival_s"), 0.0301 + 0.5, kExact);
  EXPECT_EQ(rows.text(1, "cached_tokens"), "96");
  EXPECT_NEAR(rows.number(1, "ttft_s"), 0.010 + 0.0204, kExact);
  EXPECT_NEAR(rows.number(1, "finish_s"), 0.5301 + 0.0304 + 3 * 0.0101, kExact);
  EXPECT_NEAR(rows.number(2, "arrival_s"), 0.5908 + 0.25, kExact);
  EXPECT_EQ(rows.text(2, "cached_tokens"), "288");
  EXPECT_NEAR(rows.number(2, "ttft_s"), 0.010 + 0.0212, kExact);
  // An engine that is ten times as fast moves the later rounds forward.
  const RunResult fast = run_trace("exact.yaml", kAgent, {"oracle={kind: fixed, base: 1ms, per_token: 10us}"});
  EXPECT_NEAR(fast.requests.number(1, "arrival_s"), 0.00301 + 0.5, kExact);
}

TEST(Traces, ExportKeepsAllRounds) {
  const cli::Scratch scratch;
  const std::string trace = scratch.file("agent.csv", kAgent);
  const RunResult one =
      run_scenario("exact.yaml", {"workload.trace.path=" + trace}, {"--export", scratch.name("out.csv")});
  const RunResult two = run_scenario("exact.yaml", {"workload.trace.path=" + scratch.name("out.csv")});
  ASSERT_EQ(two.process.code, 0) << two.process.err;
  EXPECT_EQ(one.requests_text, two.requests_text);
  EXPECT_EQ(two.requests.size(), 3u);
}

TEST(Traces, WhatIsThereTwiceIsRefused) {
  const RunResult id = run_trace("exact.yaml", "arrival_s,prompt_tokens,output_tokens,id\n0,1,1,5\n1,1,1,5\n");
  EXPECT_EQ(id.process.code, 2);
  EXPECT_TRUE(says(id, "trace.csv:3: row 2: id: 5 is taken by an earlier row")) << id.process.err;
  const RunResult turn = run_trace("exact.yaml",
                                   "arrival_s,prompt_tokens,output_tokens,session,turn,after_s\n"
                                   "0,10,1,1,1,0\n,20,1,1,2,1\n1,30,1,1,1,0\n");
  EXPECT_EQ(turn.process.code, 2);
  EXPECT_TRUE(says(turn, "trace.csv:4: row 3: turn: want turn 3 of session 1, have 1")) << turn.process.err;
}

TEST(Traces, AMissingFieldNamesRowAndField) {
  std::string trace = kHeader;
  for (int row = 1; row <= 8000; ++row) trace += std::to_string(row) + (row == 7001 ? ",,4\n" : ",3,4\n");
  const RunResult run = run_trace("exact.yaml", trace);
  EXPECT_EQ(run.process.code, 2);
  EXPECT_TRUE(says(run, "trace.csv:7002: row 7001: prompt_tokens: missing")) << run.process.err;
}

const std::string kTooLong = kHeader + "0,100,10\n1,990,20\n2,2000,20\n";

TEST(Traces, TooLongIsRejectedCountedAndStated) {
  const RunResult run = run_trace("exact.yaml", kTooLong, {"engine.max_model_len=1000"});
  EXPECT_EQ(run.process.code, 0);
  EXPECT_EQ(run.requests.count("reason", "prompt and output exceed max_model_len"), 2u);
  EXPECT_EQ(run.summary.at("requests").at("rejected"), 2);
  EXPECT_EQ(run.summary.at("requests").at("reasons"), json({{"prompt and output exceed max_model_len", 2}}));
}

TEST(Traces, TooLongIsCutIfAskedAndStated) {
  const RunResult run =
      run_trace("exact.yaml", kTooLong, {"engine.max_model_len=1000", "workload.trace.too_long=truncate"});
  EXPECT_EQ(run.requests.count("status", "completed"), 3u);
  EXPECT_EQ(run.requests.text(1, "prompt_tokens"), "980");
  EXPECT_EQ(run.requests.text(2, "prompt_tokens"), "980");
  EXPECT_EQ(run.summary.at("warnings"), json({"2 prompts were cut to fit max_model_len"}));
}

RunResult run_mooncake(const std::string& rows) {
  const cli::Scratch scratch;
  return run_scenario("exact.yaml",
                      {"workload.trace={format: mooncake, path: '" + scratch.file("trace.jsonl", rows) + "'}"});
}

TEST(Traces, ACacheThatWasWarmInRealityStartsColdAndTheSummarySaysSo) {
  const RunResult run = run_mooncake(R"({"timestamp":0,"input_length":600,"output_length":2,"hash_ids":[1,2]})");
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  EXPECT_EQ(run.summary.at("warnings"),
            json({"the trace's prefixes were cached in reality; here every prefix cache started cold"}));
}

TEST(Traces, MooncakeRowsMustFitTheirIdsAndHaveATime) {
  const RunResult ids = run_mooncake(
      "{\"timestamp\":0,\"input_length\":600,\"output_length\":2,\"hash_ids\":[1,2]}\n"
      "{\"timestamp\":0,\"input_length\":20,\"output_length\":2,\"hash_ids\":[1,2]}\n");
  EXPECT_EQ(ids.process.code, 2);
  EXPECT_TRUE(says(ids, "trace.jsonl:2: hash_ids: want 1 ids for 20 tokens in blocks of 512, have 2"))
      << ids.process.err;
  const RunResult time = run_mooncake(R"({"input_length":20,"output_length":2,"hash_ids":[1]})");
  EXPECT_EQ(time.process.code, 2);
  EXPECT_TRUE(says(time, "trace.jsonl:1: timestamp: missing")) << time.process.err;
}

}  // namespace
}  // namespace dooly::e2e
