#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/recorder.hpp"
#include "results/summary_json.hpp"
#include "results/terminal_summary.hpp"
#include "results/timing.hpp"

namespace dooly::results {
namespace {

/// Two requests of one class on one replica, one rejected.
Summary small_run() {
  Recorder recorder([](std::uint16_t) { return SloLimits{.ttft_s = 0.5, .tpot_s = {}, .e2e_s = {}}; });
  for (std::uint64_t row = 0; row < 2; ++row) {
    FinishedRequest request;
    request.row = request.id = row;
    request.arrival_s = static_cast<double>(row);
    request.scheduled_s = request.arrival_s + 0.25;
    request.first_token_engine_s = request.first_token_s = request.arrival_s + 0.5 + 0.5 * static_cast<double>(row);
    request.finish_s = request.first_token_s + 1;
    request.prompt_tokens = 100, request.cached_tokens = 50, request.output_tokens = 5;
    recorder.finished(request);
    recorder.gaps(0, 0.25, 4);
  }
  FinishedRequest rejected;
  rejected.row = rejected.id = 2, rejected.arrival_s = 2, rejected.status = RequestStatus::kRejected;
  rejected.reason = recorder.reason("prompt and output exceed max_model_len");
  recorder.finished(rejected);
  RunTotals run;
  run.scenario = {"small", "00ff", 7, {{"trace.csv", "aa"}}};
  run.version = "0.1.0";
  run.simulated_s = 4;
  run.submitted = 3;
  run.class_names = {"chat"};
  replica::ReplicaStats stats;
  stats.iterations = 10, stats.scheduled_tokens = 210, stats.scheduled_requests = 10, stats.decode_s = 2;
  stats.prompt_tokens = 200, stats.cached_tokens = 100, stats.peak_blocks = 20, stats.block_seconds = 40;
  stats.roofline_s = 2;
  run.pools = {{"main", "mixed", 2, 100, {stats}}};
  run.network = {1, 5e9, 0.5, 1, 2, 0.5, 0.375};
  run.checks = {{"kv_blocks_balance", "1 replica"}};
  run.warnings = {"the trace's prefixes were cached in reality; here the cache starts cold"};
  return recorder.finish(run);
}

TEST(SummaryJson, HasTheContractsKeysInOrder) {
  const auto json = nlohmann::ordered_json::parse(summary_json(small_run()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema",  "version",     "scenario",  "simulated_s", "requests", "tokens",
                                            "gpus",    "throughput",  "ttft_s",    "tpot_s",      "itl_s",    "e2e_s",
                                            "queue_s", "percentiles", "goodput",   "classes",     "pools",    "oracle",
                                            "network", "checks",      "saturated", "warnings"}));
}

TEST(SummaryJson, SaysWhatHappened) {
  const auto json = nlohmann::json::parse(summary_json(small_run()));
  EXPECT_EQ(json["scenario"]["seed"], 7);
  EXPECT_EQ(json["scenario"]["inputs"][0]["sha256"], "aa");
  EXPECT_EQ(json["requests"]["submitted"], 3);
  EXPECT_EQ(json["requests"]["rejected"], 1);
  EXPECT_EQ(json["requests"]["reasons"]["prompt and output exceed max_model_len"], 1);
  EXPECT_EQ(json["tokens"]["cached"], 100);
  EXPECT_EQ(json["gpus"], 2);
  EXPECT_EQ(json["throughput"]["requests_per_s"], 2.0 / 3);
  EXPECT_EQ(json["throughput"]["per_gpu"]["requests_per_s"], 1.0 / 3);
  EXPECT_EQ(json["ttft_s"]["mean"], 0.75);
  EXPECT_EQ(json["ttft_s"]["p50"], 0.75);
  EXPECT_EQ(json["tpot_s"]["max"], 0.25);
  EXPECT_EQ(json["itl_s"]["count"], 8);
  EXPECT_EQ(json["percentiles"]["per_request"], "exact");
  EXPECT_EQ(json["classes"][0]["name"], "chat");
  EXPECT_EQ(json["classes"][0]["slo"]["ttft_s"], 0.5);
  EXPECT_EQ(json["goodput"]["share"], 1.0 / 3);
  EXPECT_EQ(json["pools"][0]["iterations"]["mean_tokens"], 21);
  EXPECT_EQ(json["pools"][0]["iterations"]["time_share"]["idle"], 0.5);
  EXPECT_EQ(json["pools"][0]["kv"]["peak_share"], 0.2);
  EXPECT_EQ(json["pools"][0]["kv"]["prefix_hit_share"], 0.5);
  EXPECT_EQ(json["pools"][0]["replicas"].size(), 1U);
  EXPECT_EQ(json["oracle"]["answers"]["roofline"], 1);
  EXPECT_TRUE(json["oracle"]["stated_error"].is_null());
  EXPECT_EQ(json["network"]["mean_bandwidth"], 1e10);
  EXPECT_EQ(json["network"]["transfer_wait_s"], nlohmann::json({{"count", 2}, {"mean", 0.25}, {"max", 0.375}}));
  EXPECT_EQ(json["checks"][0]["name"], "kv_blocks_balance");
  EXPECT_FALSE(json.contains("partial"));
}

TEST(SummaryJson, IsTheSameTextEveryTime) { EXPECT_EQ(summary_json(small_run()), summary_json(small_run())); }

TEST(SummaryJson, FiguresOfNothingAreNull) {
  Recorder recorder({});
  const auto json = nlohmann::json::parse(summary_json(recorder.finish({})));
  EXPECT_EQ(json["ttft_s"]["count"], 0);
  EXPECT_TRUE(json["ttft_s"]["p99"].is_null());
  EXPECT_TRUE(json["network"]["mean_bandwidth"].is_null());
}

TEST(SummaryJson, MarksPartialResults) {
  Summary summary = small_run();
  summary.run.partial = "interrupted";
  EXPECT_EQ(nlohmann::json::parse(summary_json(summary))["partial"]["reason"], "interrupted");
}

TEST(TimingJson, GivesRates) {
  Timing timing;
  timing.wall_s = 2, timing.cpu_s = 1, timing.requests = 1000, timing.iterations = 5000,
  timing.peak_rss_bytes = 1 << 20;
  timing.stages_s = {{"simulate", 1.5}, {"write", 0.5}};
  const auto json = nlohmann::json::parse(timing_json(timing));
  EXPECT_EQ(json["requests_per_s"], 500);
  EXPECT_EQ(json["requests_per_cpu_s"], 1000);
  EXPECT_EQ(json["iterations_per_s"], 2500);
  EXPECT_EQ(json["requests_per_simulating_s"], 1000 / 1.5);
  EXPECT_EQ(json["iterations_per_simulating_s"], 5000 / 1.5);
  EXPECT_EQ(json["peak_rss_bytes"], 1 << 20);
  EXPECT_EQ(json["stages_s"]["simulate"], 1.5);
}

TEST(ProcessUsage, KnowsTimeAndMemory) {
  const ProcessUsage usage = process_usage();
  EXPECT_GT(usage.peak_rss_bytes, 1U << 20);
  EXPECT_GE(usage.cpu_s, 0);
}

TEST(TerminalSummary, ReadsAtAGlance) {
  Timing timing;
  timing.wall_s = 0.5, timing.stages_s = {{"load", 0.49}, {"simulate", 0.002}}, timing.requests = 3,
  timing.iterations = 10, timing.peak_rss_bytes = 20'000'000;
  EXPECT_EQ(terminal_summary(small_run(), timing, false),
            R"(small         1 x 2 GPU, seed 7
requests    3 submitted, 2 completed, 1 rejected
tokens      200 prompt (100 cached, 50 %), 10 output
                  mean       p50       p90       p99       max
TTFT               750       750       950       995     1,000 ms  first token at the client
TPOT               250       250       250       250       250 ms  per request: mean time between its tokens
ITL                250       250       250       250       250 ms  all gaps between tokens
E2E              1,750     1,750     1,950     1,995     2,000 ms  last token at the client
queue              250       250       250       250       250 ms  arrival to first scheduling
throughput  0.667 requests/s, 3.33 output tokens/s, 70 tokens/s
per GPU     0.333 requests/s, 1.67 output tokens/s, 35 tokens/s on each of 2
goodput     33.3 % of requests, 0.333/s (TTFT <= 500 ms)
pool        main: 1 replica, busy 50 %, 10 iterations (on average 1 requests, 21 tokens)
            KV use mean 10 %, peak 20 % of 100 blocks; prefix hits 50 %; 0 preemptions
network     1 flow, 5 GB, at most 1 at once, mean 10 GB/s
            KV waited for the decode side to reserve blocks: mean 250 ms, at most 375 ms
warning     the trace's prefixes were cached in reality; here the cache starts cold
warning     1 request did not complete: prompt and output exceed max_model_len
warning     every time is a roofline estimate (FLOPs and bytes over the device's peaks): nothing was measured
time        4 s simulated in 2 ms (2,000x, 1,500 requests/s, 5,000 iterations/s), 500 ms in all, 20 MB memory
)");
}

TEST(TerminalSummary, NamesGpuModelAndWhoseTimes) {
  Summary summary = small_run();
  PoolTotals& pool = summary.run.pools.front();
  pool.gpu = "H200-SXM", pool.model = "org/model", pool.device = "store 'h200', else the roofline";
  pool.host = "h200-vm";
  const std::string text = terminal_summary(summary, {}, false);
  EXPECT_NE(text.find("1 x 2 H200-SXM, seed 7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("main: 1 replica of org/model, busy 50 %"), std::string::npos) << text;
  EXPECT_NE(text.find("device times of store 'h200', else the roofline; host times of platform 'h200-vm'\n"),
            std::string::npos)
      << text;
}

/// Of a run of 4 s in which the only replica stands still for `idle_s`.
std::string busy_text(double idle_s) {
  Summary summary = small_run();
  replica::ReplicaStats& stats = summary.run.pools.front().replicas.front();
  stats.prefill_s = stats.mixed_s = 0;
  stats.decode_s = 4 - idle_s;
  const std::string text = terminal_summary(summary, {}, false);
  const std::size_t from = text.find("busy ");
  return text.substr(from, text.find(',', from) - from);
}

TEST(TerminalSummary, NearlyAllIsNotPrintedAsAll) {
  EXPECT_EQ(busy_text(0), "busy 100 %");
  EXPECT_EQ(busy_text(0.008), "busy 99.8 %");
  EXPECT_EQ(busy_text(0.0012), "busy 99.97 %");    // 1.2 ms of 4 s are 0.03 %
  EXPECT_EQ(busy_text(0.00008), "busy 99.998 %");  // 0.002 %
  EXPECT_EQ(busy_text(4e-9), "busy 99.99999 %");   // 1e-7 %
}

TEST(TerminalSummary, ColoursOnlyWhereAsked) {
  EXPECT_EQ(terminal_summary(small_run(), {}, false).find('\x1b'), std::string::npos);
  EXPECT_NE(terminal_summary(small_run(), {}, true).find("\x1b[33m2 completed\x1b[0m"), std::string::npos);
}

TEST(TerminalSummary, SaysWhyARunIsPartial) {
  Summary summary = small_run();
  summary.run.partial = "stalled: 3 requests wait for KV blocks";
  EXPECT_NE(terminal_summary(summary, {}, false).find("PARTIAL     stalled: 3 requests"), std::string::npos);
}

}  // namespace
}  // namespace dooly::results
