#include "program_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace dooly::e2e {
namespace {

using nlohmann::json;

// exact-split.yaml: a step takes 10 ms + 0.1 ms a token, so a prompt of 1,000 takes 110 ms and a decode 10.1 ms. KV has
// 131,072 B a token, the NICs do 50 GB/s: 1,000 tokens take 2.62144 ms and the latency of 2 us.
constexpr double kToken = 131072;
constexpr double kNic = 50e9;
constexpr double kLatency = 2e-6;
constexpr double kPrefill = 0.110;
constexpr double kDecode = 0.0101;
constexpr double kMove = kLatency + 1000 * kToken / kNic;
constexpr double kExact = 1e-9;
const std::string kHeader = "arrival_s,prompt_tokens,output_tokens\n";

RunResult split(const std::string& trace, const Sets& sets = {}) { return run_trace("exact-split.yaml", trace, sets); }

double bytes(const RunResult& run) { return run.summary.at("network").at("bytes"); }

void expect_all_back(const RunResult& run) {
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  EXPECT_EQ(run.requests.count("status", "completed"), run.requests.size());
  std::vector<std::string> names;
  for (const json& check : run.summary.at("checks")) names.push_back(check.at("name"));
  for (const char* name : {"kv_blocks_balance", "kv_references_return", "transfers_end", "requests_add_up"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

TEST(Split, OneRequestHasTheTimesOfItsParts) {
  const RunResult run = split(kHeader + "1,1000,3\n");
  expect_all_back(run);
  const Table& row = run.requests;
  EXPECT_NEAR(row.number(0, "scheduled_s"), 1, kExact);
  EXPECT_NEAR(row.number(0, "transfer_wait_s"), 0, kExact);
  EXPECT_NEAR(row.number(0, "transfer_s"), kMove, kExact);
  EXPECT_NEAR(row.number(0, "first_token_s"), 1 + kPrefill + kMove + kDecode, kExact) << "the decode side computes it";
  EXPECT_NEAR(row.number(0, "finish_s"), 1 + kPrefill + kMove + 3 * kDecode, kExact);
  EXPECT_EQ(row.text(0, "output_tokens"), "3");
  EXPECT_EQ(row.text(0, "pool") + row.text(0, "replica"), "prefill0");
  EXPECT_EQ(row.text(0, "decode_pool") + row.text(0, "decode_replica"), "decode0");
  EXPECT_EQ(run.summary.at("network").at("flows"), 1);
  EXPECT_EQ(bytes(run), 1000 * kToken);
}

TEST(Split, ThePrefillSideMayEmitTheFirstToken) {
  const RunResult run = split(kHeader + "1,1000,3\n", {"kv_transfer.first_token=prefill"});
  expect_all_back(run);
  EXPECT_NEAR(run.requests.number(0, "ttft_s"), kPrefill, kExact);
  EXPECT_NEAR(run.requests.number(0, "finish_s"), 1 + kPrefill + kMove + 2 * kDecode, kExact);
  EXPECT_EQ(run.requests.text(0, "output_tokens"), "3");
  EXPECT_EQ(bytes(run), 1000 * kToken);
  const json& gaps = run.summary.at("itl_s");
  EXPECT_EQ(gaps.at("count"), 2);
  EXPECT_NEAR(gaps.at("max").get<double>(), kMove + kDecode, 1e-3 * (kMove + kDecode)) << "the transfer is a gap";
  EXPECT_NEAR(gaps.at("min").get<double>(), kDecode, 1e-3 * kDecode);
}

TEST(Split, OneTokenThatThePrefillSideEmitsMovesNothing) {
  const RunResult run = split(kHeader + "1,1000,1\n", {"kv_transfer.first_token=prefill"});
  expect_all_back(run);
  EXPECT_EQ(run.summary.at("network").at("flows"), 0);
  EXPECT_NEAR(run.requests.number(0, "finish_s"), 1 + kPrefill, kExact);
  EXPECT_EQ(run.requests.text(0, "decode_pool"), "");
}

/// Two prefill nodes finish 1,000 and 500 tokens at the same time and send into one NIC: half each until the shorter
/// one is through, then all for the longer one. (The shorter prompt starts 50 ms later.)
TEST(Split, TwoTransfersShareTheirNic) {
  const RunResult run = split(kHeader + "0,1000,2\n0.05,500,2\n",
                              {"cluster.nodes.p.count=2", "pools.prefill.replicas=2", "pools.decode.replicas=1"});
  expect_all_back(run);
  EXPECT_EQ(run.requests.text(1, "replica"), "1");
  EXPECT_NEAR(run.requests.number(1, "transfer_s"), kLatency + 2 * 500 * kToken / kNic, kExact);
  EXPECT_NEAR(run.requests.number(0, "transfer_s"), kLatency + 1500 * kToken / kNic, kExact);
  EXPECT_EQ(run.summary.at("network").at("max_concurrent"), 2);
}

/// 69 usable blocks on the decode side hold one request of 63 to 66. Both prompts end at 10 + 200 ms; the second one's
/// KV has to wait until the first request has ended.
TEST(Split, AFullDecodePoolMakesTransfersWaitAndDropsNone) {
  const RunResult run = split(kHeader + "0,1000,50\n0,1000,50\n", {"pools.decode.engine.num_gpu_blocks_override=70"});
  expect_all_back(run);
  const double first_end = 0.210 + kMove + 50 * kDecode;
  EXPECT_NEAR(run.requests.number(0, "finish_s"), first_end, kExact);
  EXPECT_NEAR(run.requests.number(0, "transfer_wait_s"), 0, kExact);
  EXPECT_NEAR(run.requests.number(1, "transfer_wait_s"), first_end - 0.210, kExact);
  EXPECT_NEAR(run.requests.number(1, "transfer_s"), kMove, kExact) << "alone on the NIC";
  EXPECT_NEAR(run.requests.number(1, "finish_s"), first_end + kMove + 50 * kDecode, kExact);
  const json& wait = run.summary.at("network").at("transfer_wait_s");
  EXPECT_EQ(wait.at("count"), 2);
  EXPECT_NEAR(wait.at("max").get<double>(), first_end - 0.210, kExact);
  EXPECT_NEAR(wait.at("mean").get<double>(), (first_end - 0.210) / 2, kExact);
}

/// The prefill side has room for one prompt: it can take the next one when the transfer of the first has ended.
TEST(Split, ThePrefillSideHoldsBlocksUntilTheTransferEnded) {
  const RunResult run = split(kHeader + "0,1000,50\n0,1000,50\n", {"pools.prefill.engine.num_gpu_blocks_override=70",
                                                                   "pools.decode.engine.num_gpu_blocks_override=1000"});
  expect_all_back(run);
  EXPECT_NEAR(run.requests.number(1, "scheduled_s"), kPrefill + kMove, kExact);
}

/// Prompts of 1,024 whose first 512 are equal: the second time both sides hold them.
TEST(Split, WhatTheDestinationHoldsIsNotSent) {
  const RunResult run =
      split("arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n0,1024,2,1,512\n5,1024,2,1,512\n");
  expect_all_back(run);
  EXPECT_EQ(bytes(run), (1024 + 512) * kToken);
  EXPECT_EQ(run.requests.text(1, "cached_tokens"), "512");
  EXPECT_NEAR(run.requests.number(0, "transfer_s"), kLatency + 1024 * kToken / kNic, kExact);
  EXPECT_NEAR(run.requests.number(1, "transfer_s"), kLatency + 512 * kToken / kNic, kExact);
  EXPECT_NEAR(run.requests.number(1, "ttft_s"), 0.010 + 0.0512 + kLatency + 512 * kToken / kNic + kDecode, kExact);
}

struct Ranks {
  int prefill, decode;
  double nics;  ///< at the narrower end
};
class TensorParallel : public testing::TestWithParam<Ranks> {};

TEST_P(TensorParallel, RanksMultiplyNoBytes) {
  const Ranks ranks = GetParam();
  Sets sets{"pools.prefill.parallel.tp=" + std::to_string(ranks.prefill),
            "pools.decode.parallel.tp=" + std::to_string(ranks.decode)};
  for (const char* node : {"p", "d"})
    for (const char* rest : {".count=2", ".gpus=8", ".nics.count=8"})
      sets.push_back("cluster.nodes." + std::string(node) + rest);
  const RunResult run = split(kHeader + "0,1000,2\n", sets);
  expect_all_back(run);
  EXPECT_EQ(bytes(run), 1000 * kToken);
  EXPECT_NEAR(run.requests.number(0, "transfer_s"), kLatency + 1000 * kToken / (ranks.nics * kNic), kExact);
}
/// The model has 8 KV heads: with 16 ranks each is stored twice and sent once.
INSTANTIATE_TEST_SUITE_P(Sizes, TensorParallel, testing::Values(Ranks{4, 8, 4}, Ranks{8, 4, 4}, Ranks{16, 8, 8}));

struct Model {
  const char* name;
  int prompt;
  double bytes;
};
class KvBytes : public testing::TestWithParam<Model> {};

TEST_P(KvBytes, FollowTheArchitecture) {
  const RunResult run = split(kHeader + "0," + std::to_string(GetParam().prompt) + ",2\n",
                              {std::string("pools.prefill.model=") + GetParam().name});
  expect_all_back(run);
  EXPECT_EQ(bytes(run), GetParam().bytes);
}
INSTANTIATE_TEST_SUITE_P(Models, KvBytes,
                         testing::Values(
                             // 36 layers of 2 x 8 heads x 128 x 2 B
                             Model{"Qwen/Qwen3-8B", 1000, 1000.0 * 36 * 4096},
                             // MLA: 27 layers of (512 + 64) x 2 B, no heads, no factor of 2
                             Model{"deepseek-ai/DeepSeek-V2-Lite", 1000, 1000.0 * 27 * 1152},
                             // 8 layers of full attention, 24 with a window of 4,096; each 2 x 8 x 128 x 2 B
                             Model{"CohereForAI/c4ai-command-r7b-12-2024", 8000, (8.0 * 8000 + 24.0 * 4096) * 4096},
                             Model{"CohereForAI/c4ai-command-r7b-12-2024", 2000, 32.0 * 2000 * 4096}));

class LoadOnSplit : public testing::TestWithParam<int> {};

/// Four prefill and four decode replicas, 512 in and 512 out; decode replicas hold 23 to 46 requests, so 60/s is too
/// much for them.
TEST_P(LoadOnSplit, QueuesAndDropsNobody) {
  const RunResult run =
      run_scenario("four-and-four.yaml", {"workload.synthetic.arrivals.rate=" + std::to_string(GetParam()) + "/s"});
  expect_all_back(run);
  EXPECT_EQ(run.requests.size(), 3000u);
  EXPECT_EQ(run.summary.at("network").at("flows"), 3000);
  const double longest_wait = run.summary.at("network").at("transfer_wait_s").at("max");
  if (GetParam() == 20)
    EXPECT_LT(longest_wait, 0.1);
  else
    EXPECT_GT(longest_wait, 1.0);
}
INSTANTIATE_TEST_SUITE_P(Rates, LoadOnSplit, testing::Values(20, 60));

TEST(Split, AHundredLongPromptsWaitForTwoFullDecodeReplicas) {
  // 1,024 blocks a prompt; 2,100 hold two requests.
  std::string trace = kHeader;
  for (int i = 0; i < 100; ++i) trace += "0,16384,64\n";
  const RunResult run = split(trace, {"pools.decode.engine.num_gpu_blocks_override=2101", "pools.decode.replicas=2",
                                      "cluster.nodes.d.count=2", "oracle={kind: fixed, base: 10ms, per_token: 1us}"});
  expect_all_back(run);
  EXPECT_EQ(run.requests.size(), 100u);
  EXPECT_GT(run.summary.at("network").at("transfer_wait_s").at("max"), 1.0);
  EXPECT_NEAR(run.summary.at("network").at("transfer_wait_s").at("mean").get<double>(),
              mean(run.requests.numbers("transfer_wait_s")), 1e-9);
  EXPECT_LE(run.summary.at("network").at("max_concurrent"), 4);
}

/// 50 sessions of 6 turns; a session ends with 2,000 tokens, 125 blocks, so 500 blocks hold four.
TEST(Split, ConversationsReuseTheirHistoryOnBothSides) {
  const std::string sessions =
      "workload={sessions: {sessions: 50, turns: 6, arrivals: {process: poisson, rate: 0.5/s}, first_prompt: 400, "
      "turn_prompt: 200, output_tokens: 100, think_time: 1s}}";
  const Sets small{sessions, "pools.prefill.engine.num_gpu_blocks_override=501",
                   "pools.decode.engine.num_gpu_blocks_override=501",
                   "oracle={kind: fixed, base: 5ms, per_token: 20us}"};
  const RunResult run = run_scenario("exact-split.yaml", small);
  const RunResult roomy = run_scenario("exact-split.yaml", {small[0], small[3]});
  expect_all_back(run);
  expect_all_back(roomy);
  EXPECT_EQ(run.requests.size(), 300u);
  const double prompts = run.requests.sum("prompt_tokens");
  EXPECT_GT(run.requests.sum("cached_tokens"), 0.2 * prompts) << "later turns reuse history where they are prefilled";
  EXPECT_LT(run.requests.sum("cached_tokens"), roomy.requests.sum("cached_tokens")) << "evictions happen";
  EXPECT_LT(bytes(run), 0.8 * prompts * kToken) << "and where they are decoded";
  EXPECT_GT(bytes(run), bytes(roomy));
  // With room, the decode side knows all but the new text (200 tokens and less than a block) and the answer's last
  // token.
  EXPECT_LT(bytes(roomy), (50 * 400 + 250 * (200 + 16 + 1)) * kToken);
}

}  // namespace
}  // namespace dooly::e2e
