#include "results/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "results/summary_json.hpp"
#include "scratch.hpp"

namespace dooly::results {
namespace {

/// A request that is scheduled `queue` after its arrival, has its first token at `ttft` and the others `tpot` apart.
FinishedRequest completed(std::uint64_t row, double arrival, double queue, double ttft, double tpot,
                          std::uint32_t output, std::uint16_t request_class = 0) {
  FinishedRequest made;
  made.row = made.id = row;
  made.request_class = request_class;
  made.arrival_s = arrival;
  made.scheduled_s = arrival + queue;
  made.first_token_engine_s = made.first_token_s = arrival + ttft;
  made.finish_s = made.first_token_s + tpot * (output - 1);
  made.prompt_tokens = 100;
  made.cached_tokens = 16;
  made.output_tokens = output;
  made.pool = 0;
  return made;
}

RunTotals totals(std::uint64_t submitted) {
  RunTotals run;
  run.submitted = submitted;
  run.class_names = {"chat", "batch"};
  run.pools = {{"main", "mixed", 4, 100, std::vector<replica::ReplicaStats>(2)}};
  return run;
}

SloLimits limits(double ttft_s, double tpot_s) { return {.ttft_s = ttft_s, .tpot_s = tpot_s, .e2e_s = {}}; }

TEST(Recorder, TimesOfARequestAreTheClients) {
  Recorder recorder({});
  recorder.finished(completed(0, 1, 0.125, 0.5, 0.25, 5));
  const Summary summary = recorder.finish(totals(1));
  EXPECT_EQ(summary.all.latency.queue.mean, 0.125);
  EXPECT_EQ(summary.all.latency.ttft.mean, 0.5);
  EXPECT_EQ(summary.all.latency.tpot.mean, 0.25);
  EXPECT_EQ(summary.all.latency.e2e.mean, 1.5);
}

TEST(Recorder, OneTokenHasNoTpotAndMeetsAnyLimit) {
  Recorder recorder([](std::uint16_t) { return limits(1, 0); });
  recorder.finished(completed(0, 0, 0, 0.5, 0, 1));
  const Summary summary = recorder.finish(totals(1));
  EXPECT_EQ(summary.all.latency.tpot.count, 0U);
  EXPECT_EQ(summary.all.latency.ttft.count, 1U);
  EXPECT_EQ(summary.all.goodput.share, 1);
}

TEST(Recorder, ThroughputRunsFromTheFirstArrivalToTheLastToken) {
  Recorder recorder({});
  recorder.finished(completed(1, 4, 0, 1, 1, 3));  // last token at 7
  recorder.finished(completed(0, 2, 0, 1, 1, 5));  // last token at 7, first arrival 2
  FinishedRequest rejected;
  rejected.row = 2, rejected.arrival_s = 9, rejected.status = RequestStatus::kRejected;
  rejected.reason = recorder.reason("prompt and output exceed max_model_len");
  recorder.finished(rejected);
  const Summary summary = recorder.finish(totals(3));
  EXPECT_EQ(summary.span_s, 5);
  EXPECT_DOUBLE_EQ(summary.all.throughput.requests_per_s, 2.0 / 5);
  EXPECT_DOUBLE_EQ(summary.all.throughput.output_tokens_per_s, 8.0 / 5);
  EXPECT_DOUBLE_EQ(summary.all.throughput.total_tokens_per_s, 208.0 / 5);
  EXPECT_EQ(summary.gpus, 8U);
}

TEST(Recorder, GoodputIsOfThoseSubmitted) {
  Recorder recorder([](std::uint16_t) { return limits(0.5, 0.05); });
  recorder.finished(completed(0, 0, 0, 0.5, 0.05 / 2, 3));  // good: at the limit counts
  recorder.finished(completed(1, 0, 0, 0.75, 0.025, 3));    // first token too late
  recorder.finished(completed(2, 0, 0, 0.25, 0.1, 3));      // too slow
  FinishedRequest failed;
  failed.row = 3, failed.status = RequestStatus::kFailed;
  recorder.finished(failed);
  const Summary summary = recorder.finish(totals(4));
  EXPECT_EQ(summary.all.goodput.requests, 1U);
  EXPECT_EQ(summary.all.goodput.share, 0.25);
  EXPECT_DOUBLE_EQ(summary.all.goodput.requests_per_s, 1 / 0.8);  // the last token of request 1 comes at 0.8
}

TEST(Recorder, ClassesHaveTheirOwnFiguresAndLimits) {
  Recorder recorder([](std::uint16_t number) { return number == 0 ? limits(0.1, 1) : SloLimits{}; });
  recorder.finished(completed(0, 0, 0, 0.25, 0.1, 2, 0));
  recorder.finished(completed(1, 0, 0, 0.75, 0.1, 2, 1));
  recorder.gaps(0, 0.1, 1);
  recorder.gaps(1, 0.1, 1);
  const Summary summary = recorder.finish(totals(2));
  ASSERT_EQ(summary.classes.size(), 2U);
  EXPECT_EQ(summary.classes[0].name, "chat");
  EXPECT_EQ(summary.classes[0].figures.latency.ttft.mean, 0.25);
  EXPECT_EQ(summary.classes[0].figures.goodput.share, 0);
  EXPECT_EQ(summary.classes[1].name, "batch");
  EXPECT_EQ(summary.classes[1].figures.goodput.share, 1);
  EXPECT_EQ(summary.all.latency.ttft.mean, 0.5);
  EXPECT_EQ(summary.all.latency.itl.count, 2U);
  EXPECT_EQ(summary.all.goodput.share, 0.5);
}

TEST(Recorder, PooledGapsDifferFromMeansPerRequest) {
  Recorder recorder({});
  recorder.finished(completed(0, 0, 0, 0.25, 0.5, 2));  // one gap of 0.5
  recorder.finished(completed(1, 0, 0, 0.25, 0.125, 9));  // eight gaps of 0.125
  recorder.gaps(0, 0.5, 1);
  recorder.gaps(0, 0.125, 8);
  const Summary summary = recorder.finish(totals(2));
  EXPECT_EQ(summary.all.latency.tpot.mean, 0.3125);
  EXPECT_EQ(summary.all.latency.itl.count, 9U);
  EXPECT_DOUBLE_EQ(summary.all.latency.itl.mean, 1.5 / 9);
}

TEST(Recorder, ReasonsAreCounted) {
  Recorder recorder({});
  const std::uint16_t too_long = recorder.reason("too long");
  EXPECT_EQ(recorder.reason("too long"), too_long);
  EXPECT_NE(recorder.reason("no room"), too_long);
  for (std::uint64_t row = 0; row < 3; ++row) {
    FinishedRequest rejected;
    rejected.row = row, rejected.status = RequestStatus::kRejected, rejected.reason = too_long;
    recorder.finished(rejected);
  }
  const Summary summary = recorder.finish(totals(3));
  EXPECT_EQ(summary.all.requests.rejected, 3U);
  ASSERT_EQ(summary.all.requests.reasons.size(), 1U);
  EXPECT_EQ(summary.all.requests.reasons[0], (std::pair<std::string, std::uint64_t>{"too long", 3}));
  EXPECT_EQ(summary.all.latency.ttft.count, 0U);
  EXPECT_EQ(summary.span_s, 0);
}

TEST(Recorder, LostRequestsAreABug) {
  Recorder recorder({});
  recorder.finished(completed(0, 0, 0, 1, 1, 2));
  EXPECT_EQ(message_of<std::logic_error>([&] { recorder.finish(totals(2)); }),
            "requests do not add up: 2 submitted, 1 ended");
}

TEST(Recorder, TimesThatRunBackAreABug) {
  Recorder recorder({});
  FinishedRequest wrong = completed(7, 1, 0.5, 1, 1, 2);
  wrong.scheduled_s = 0.5;
  EXPECT_EQ(message_of<std::logic_error>([&] { recorder.finished(wrong); }),
            "times of request 7 run back: arrival 1, scheduled 0.5, first token 2 (client 2), last token 3");
  wrong.scheduled_s = kUndefined;
  EXPECT_THROW(recorder.finished(wrong), std::logic_error);
}

TEST(Recorder, FiguresDoNotDependOnTheOrderOfFinishing) {
  std::mt19937_64 bits(2);
  std::exponential_distribution<double> law(10);
  std::vector<FinishedRequest> requests;
  for (std::uint64_t row = 0; row < 3000; ++row) {
    const double queue = law(bits);
    requests.push_back(completed(row, 0.1 * static_cast<double>(row), queue, queue + law(bits), law(bits), 20,
                                 static_cast<std::uint16_t>(row % 2)));
  }
  const auto text = [&] {
    Recorder recorder([](std::uint16_t) { return limits(0.2, 0.1); });
    for (const FinishedRequest& request : requests) {
      recorder.finished(request);
      recorder.gaps(request.request_class, request.tpot_s(), 19);
    }
    return summary_json(recorder.finish(totals(requests.size())));
  };
  const std::string in_order = text();
  EXPECT_EQ(text(), in_order);
  // the class that appears first must stay the same: it is a matter of the workload
  std::shuffle(requests.begin(), requests.end(), bits);
  EXPECT_EQ(text(), in_order);
}

/// Requests arrive a second apart; each waits for the single server, which takes `service` seconds.
bool saturates(double service, std::uint64_t count) {
  std::mt19937_64 bits(6);
  std::exponential_distribution<double> gap(1);
  Recorder recorder({});
  double arrival = 0;
  double free_at = 0;
  for (std::uint64_t row = 0; row < count; ++row) {
    arrival += gap(bits);
    const double start = std::max(arrival, free_at);
    free_at = start + service;
    recorder.finished(completed(row, arrival, start - arrival, start - arrival + service, 0, 1));
  }
  return recorder.finish(totals(count)).saturated;
}

TEST(Recorder, ALoadBeyondCapacityIsNoticed) {
  EXPECT_FALSE(saturates(0.5, 20'000));
  EXPECT_FALSE(saturates(0.9, 20'000));
  EXPECT_TRUE(saturates(1.1, 20'000));
  EXPECT_TRUE(saturates(3, 1000));
}

TEST(Recorder, AFewRequestsAreNoTrend) { EXPECT_FALSE(saturates(3, 20)); }

TEST(Recorder, EverythingAtOnceIsNoSaturation) {
  Recorder recorder({});
  for (std::uint64_t row = 0; row < 100; ++row) {
    const auto wait = static_cast<double>(row);
    recorder.finished(completed(row, 0, wait, wait + 1, 0, 1));
  }
  EXPECT_FALSE(recorder.finish(totals(100)).saturated);
}

}  // namespace
}  // namespace dooly::results
