#include "program_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dooly::e2e {
namespace {

using nlohmann::json;

/// What the scheduling calls that gave tokens to anybody gave to whom: (request, tokens, tokens computed before).
std::vector<std::vector<std::array<int, 3>>> scheduled(const RunResult& run) {
  std::vector<std::vector<std::array<int, 3>>> calls;
  for (const json& row : run.decisions)
    if (!row.at("scheduled").empty()) calls.push_back(row.at("scheduled"));
  return calls;
}
using Calls = std::vector<std::vector<std::array<int, 3>>>;

const Sets kSmallBlocks{"engine.block_size=4", "engine.max_num_batched_tokens=8", "engine.max_num_seqs=8",
                        "output.decisions=jsonl"};

TEST(SchedulingExactly, PromptsOf4And8ShareABudgetOf8) {
  const RunResult run = run_trace("exact.yaml", "arrival_s,prompt_tokens,output_tokens\n0,4,1\n0,8,1\n", kSmallBlocks);
  EXPECT_EQ(scheduled(run), (Calls{{{0, 4, 0}, {1, 4, 0}}, {{1, 4, 4}}})) << run.process.err;
}

TEST(SchedulingExactly, TheThirdPromptWaitsForTheNextStep) {
  const RunResult run =
      run_trace("exact.yaml", "arrival_s,prompt_tokens,output_tokens\n0,4,1\n0,4,1\n0,8,1\n", kSmallBlocks);
  EXPECT_EQ(scheduled(run), (Calls{{{0, 4, 0}, {1, 4, 0}}, {{2, 8, 0}}}));
}

/// Request 0 decodes when the others come (its prompt's step ends at 10.4 ms): 1 + 4 + 3, then 1 + 5.
TEST(SchedulingExactly, ARunningDecodeComesFirst) {
  const RunResult run =
      run_trace("exact.yaml", "arrival_s,prompt_tokens,output_tokens\n0,4,4\n0.001,4,1\n0.001,8,1\n", kSmallBlocks);
  const Calls calls = scheduled(run);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0], (Calls::value_type{{0, 4, 0}}));
  EXPECT_EQ(calls[1], (Calls::value_type{{0, 1, 4}})) << "asynchronous: before the others have come";
  EXPECT_EQ(calls[2], (Calls::value_type{{0, 1, 5}, {1, 4, 0}, {2, 3, 0}}));
  EXPECT_EQ(calls[3], (Calls::value_type{{0, 1, 6}, {2, 5, 3}}));
}

/// Eight requests decode; a prompt of 4,000 comes. Each step has 512 tokens: 8 of decodes and 504 of the prompt, seven
/// times (3,528), then the last 472 with 8.
TEST(SchedulingExactly, TheBudgetCountsTokensNotRequestsTimesTheLongest) {
  std::string trace = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < 8; ++i) trace += "0,16,100\n";
  const RunResult run =
      run_trace("exact.yaml", trace + "0.005,4000,1\n",
                {"engine.max_num_batched_tokens=512", "engine.max_num_seqs=64", "output.iterations=csv"});
  std::vector<double> tokens, prompt;
  for (std::size_t i = 0; i < run.iterations.size(); ++i) {
    if (run.iterations.number(i, "start_s") < 0.005 || run.iterations.number(i, "prefill_tokens") == 0) continue;
    tokens.push_back(run.iterations.number(i, "tokens"));
    prompt.push_back(run.iterations.number(i, "prefill_tokens"));
    EXPECT_EQ(run.iterations.number(i, "decodes"), 8);
  }
  EXPECT_EQ(tokens, (std::vector<double>{512, 512, 512, 512, 512, 512, 512, 480}));
  EXPECT_EQ(prompt, (std::vector<double>{504, 504, 504, 504, 504, 504, 504, 472}));
  // A step of 512 tokens takes 10 + 51.2 ms. The prompt joins the third step: 16 x 8 tokens (22.8 ms), 8 decodes
  // (10.8 ms), then seven of 61.2 ms and one of 58 ms.
  EXPECT_NEAR(run.requests.number(run.requests.row_of(8), "first_token_s"), 0.0228 + 0.0108 + 7 * 0.0612 + 0.058,
              1e-12);
}

/// One request: the first token after its prefill (10 ms + 100 x 0.1 ms), every gap one decode (10.1 ms).
TEST(SchedulingExactly, TheFirstTokenIsThePrefillAndEveryGapOneDecode) {
  for (const char* mode : {"true", "false"}) {
    const RunResult run = run_trace("exact.yaml", "arrival_s,prompt_tokens,output_tokens\n2,100,500\n",
                                    {std::string("engine.async_scheduling=") + mode});
    EXPECT_NEAR(run.requests.number(0, "ttft_s"), 0.020, 1e-12);
    EXPECT_NEAR(run.requests.number(0, "tpot_s"), 0.0101, 1e-12);
    EXPECT_NEAR(run.requests.number(0, "finish_s"), 2 + 0.020 + 499 * 0.0101, 1e-9);
    EXPECT_NEAR(run.summary.at("itl_s").at("min").get<double>(), 0.0101, 1e-5);
    EXPECT_NEAR(run.summary.at("itl_s").at("max").get<double>(), 0.0101, 1e-5);
    EXPECT_EQ(run.summary.at("itl_s").at("count"), 499);
  }
}

TEST(Scheduling, AnOverloadOfAMillionRequestsASecondKeepsTheOrder) {
  const RunResult run = run_scenario(
      "synthetic.yaml",
      {"workload.synthetic.requests=1000", "workload.synthetic.arrivals={process: constant, rate: 1000000/s}",
       "workload.synthetic.prompt_tokens=256", "workload.synthetic.output_tokens=32", "engine.max_num_seqs=64"});
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  ASSERT_EQ(run.requests.size(), 1000u);
  for (std::size_t i = 1; i < 1000; ++i) {
    EXPECT_LE(run.requests.number(i - 1, "scheduled_s"), run.requests.number(i, "scheduled_s"));
    EXPECT_LE(run.requests.number(i - 1, "finish_s"), run.requests.number(i, "finish_s"));
  }
}

/// 40 blocks of 16. Request 0 (160 tokens) grows to 29 blocks while request 1 (500 tokens, 32 blocks) is in the middle
/// of its prompt: 1 has to give way.
TEST(Scheduling, APromptThatWasPreemptedHalfWayIsPrefilledAgain) {
  const RunResult run =
      run_trace("exact.yaml", "arrival_s,prompt_tokens,output_tokens\n0,160,300\n0.1,500,5\n",
                {"engine.num_gpu_blocks_override=41", "engine.scheduler_reserve_full_isl=false",
                 "engine.max_num_batched_tokens=64", "engine.max_num_seqs=8", "output.decisions=jsonl"});
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  EXPECT_GE(run.requests.number(1, "preemptions"), 1);
  EXPECT_EQ(run.requests.text(1, "output_tokens"), "5");
  EXPECT_EQ(run.requests.text(0, "output_tokens"), "300");
  int next = 0, samples = 0;
  bool lost = false;
  for (const json& row : run.decisions) {
    for (const json& entry : row.at("scheduled")) {
      if (entry[0] != 1) continue;
      const int tokens = entry[1], computed = entry[2];
      if (lost) {
        EXPECT_LT(computed, 500) << "its prompt is computed again";
        EXPECT_EQ(computed % 16, 0) << "beyond the full blocks that are still cached";
      } else {
        EXPECT_EQ(computed, next);
      }
      lost = false;
      next = computed + tokens;
      samples += next >= 500 ? 1 : 0;
    }
    for (const json& id : row.at("preempted")) lost = lost || id == 1;
  }
  EXPECT_EQ(samples, 5) << "one output for each step that reaches the end of the prompt, none for its parts";
}

/// 40 blocks; four requests of 8 blocks that grow to 16. The urgent one comes last.
TEST(Scheduling, PreemptionTakesTheLeastUrgentThenTheLatest) {
  const RunResult run =
      run_trace("exact.yaml",
                "arrival_s,prompt_tokens,output_tokens,class,priority\n"
                "0,128,128,batch,5\n0.001,128,128,batch,5\n0.002,128,128,batch,5\n0.003,128,128,chat,0\n",
                {"engine.num_gpu_blocks_override=41", "engine.scheduling_policy=priority", "output.decisions=jsonl"});
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  std::vector<int> victims;
  for (const json& row : run.decisions)
    for (const json& id : row.at("preempted")) victims.push_back(id);
  ASSERT_FALSE(victims.empty());
  EXPECT_EQ(victims.front(), 2);
  EXPECT_EQ(run.requests.number(run.requests.row_of(3), "preemptions"), 0) << "the urgent one";
  EXPECT_EQ(run.requests.number(run.requests.row_of(0), "preemptions"), 0) << "the first of the others";
  EXPECT_EQ(run.requests.count("status", "completed"), 4u);
}

TEST(Scheduling, WithoutPrioritiesTheLastToComeGivesWay) {
  const RunResult run =
      run_trace("exact.yaml",
                "arrival_s,prompt_tokens,output_tokens,class,priority\n"
                "0,128,128,batch,5\n0.001,128,128,batch,5\n0.002,128,128,batch,5\n0.003,128,128,chat,0\n",
                {"engine.num_gpu_blocks_override=41", "output.decisions=jsonl"});
  EXPECT_GE(run.requests.number(3, "preemptions"), 1);
  EXPECT_EQ(run.requests.number(0, "preemptions"), 0);
}

}  // namespace
}  // namespace dooly::e2e
