#include "program_run.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace dooly::e2e {
namespace {

using nlohmann::json;

/// Everything is recomputed from requests.csv, by the definitions alone.
class Metrics : public testing::Test {
 protected:
  static void SetUpTestSuite() { run_ = new RunResult(run_scenario("two-classes.yaml")); }
  static void TearDownTestSuite() { delete run_; }
  static const RunResult& run() { return *run_; }
  static double cell(std::size_t row, const char* column) { return run().requests.number(row, column); }
  static bool completed(std::size_t row) { return run().requests.text(row, "status") == "completed"; }

  /// Values of completed requests of a class (empty: all), those that are undefined left out.
  template <class Value>
  static std::vector<double> values(const std::string& of_class, Value&& value) {
    std::vector<double> all;
    for (std::size_t i = 0; i < run().requests.size(); ++i) {
      if (!completed(i) || (!of_class.empty() && run().requests.text(i, "class") != of_class)) continue;
      const double one = value(i);
      if (!std::isnan(one)) all.push_back(one);
    }
    return all;
  }
  static double ttft(std::size_t i) { return cell(i, "first_token_s") - cell(i, "arrival_s"); }
  static double e2e(std::size_t i) { return cell(i, "finish_s") - cell(i, "arrival_s"); }
  static double queue(std::size_t i) { return cell(i, "scheduled_s") - cell(i, "arrival_s"); }
  static double tpot(std::size_t i) {
    const double gaps = cell(i, "output_tokens") - 1;
    return gaps > 0 ? (cell(i, "finish_s") - cell(i, "first_token_s")) / gaps : std::nan("");
  }
  static void expect_distribution(const json& shown, const std::vector<double>& sample) {
    ASSERT_EQ(shown.at("count"), sample.size());
    EXPECT_NEAR(shown.at("mean").get<double>(), mean(sample), 1e-9);
    for (const auto& [key, percent] :
         std::map<std::string, double>{{"min", 0}, {"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"max", 100}})
      EXPECT_NEAR(shown.at(key).get<double>(), percentile(sample, percent), 1e-9) << key;
  }
  static const json& of_class(const std::string& name) {
    for (const json& one : run().summary.at("classes"))
      if (one.at("name") == name) return one;
    throw std::out_of_range(name);
  }

 private:
  static inline RunResult* run_ = nullptr;
};

TEST_F(Metrics, EveryDistributionFollowsFromTheRows) {
  ASSERT_EQ(run().process.code, 0) << run().process.err;
  for (const std::string name : {"", "chat", "batch"}) {
    const json& shown = name.empty() ? run().summary : of_class(name);
    expect_distribution(shown.at("ttft_s"), values(name, ttft));
    expect_distribution(shown.at("tpot_s"), values(name, tpot));
    expect_distribution(shown.at("e2e_s"), values(name, e2e));
    expect_distribution(shown.at("queue_s"), values(name, queue));
  }
}

TEST_F(Metrics, TheRowsOwnFiguresFollowFromTheirMoments) {
  for (std::size_t i = 0; i < run().requests.size(); ++i) {
    if (!completed(i)) continue;
    EXPECT_NEAR(cell(i, "ttft_s"), ttft(i), 1e-12);
    EXPECT_NEAR(cell(i, "e2e_s"), e2e(i), 1e-12);
    if (cell(i, "output_tokens") > 1) {
      EXPECT_NEAR(cell(i, "tpot_s"), tpot(i), 1e-12);
    } else {
      EXPECT_EQ(run().requests.text(i, "tpot_s"), "");
    }
  }
}

/// Pooled gaps and per-request means are both there and differ in kind: every gap counts once, so the pooled mean is
/// that of TPOT weighted by gaps.
TEST_F(Metrics, PooledGapsAreAllGapsAndNotPerRequestMeans) {
  const auto gaps = values("", [](std::size_t i) { return cell(i, "output_tokens") - 1; });
  const auto spans = values("", [](std::size_t i) { return cell(i, "finish_s") - cell(i, "first_token_s"); });
  const double count = std::accumulate(gaps.begin(), gaps.end(), 0.0);
  const double seconds = std::accumulate(spans.begin(), spans.end(), 0.0);
  const json& itl = run().summary.at("itl_s");
  EXPECT_EQ(itl.at("count").get<double>(), count);
  EXPECT_NEAR(itl.at("mean").get<double>(), seconds / count, 1e-3 * seconds / count);
  EXPECT_NE(itl.at("count"), run().summary.at("tpot_s").at("count"));
  EXPECT_GT(itl.at("p99").get<double>(), run().summary.at("tpot_s").at("p99").get<double>());
}

TEST_F(Metrics, GoodputCountsWhoMeetsEveryLimitAmongAllSubmitted) {
  const auto met = [](const std::string& name, auto&& good) {
    const auto flags = values(name, [&](std::size_t i) { return good(i) ? 1.0 : 0.0; });
    return std::accumulate(flags.begin(), flags.end(), 0.0);
  };
  const double chat = met("chat", [](std::size_t i) { return ttft(i) <= 0.2 && !(tpot(i) > 0.030); });
  const double batch = met("batch", [](std::size_t i) { return e2e(i) <= 6; });
  EXPECT_NEAR(of_class("chat").at("goodput").at("share").get<double>(), chat / 400, 1e-12);
  const double batches = of_class("batch").at("requests").at("submitted");
  EXPECT_NEAR(of_class("batch").at("goodput").at("share").get<double>(), batch / batches, 1e-12);
  EXPECT_NEAR(run().summary.at("goodput").at("share").get<double>(), (chat + batch) / (400 + batches), 1e-12);
  EXPECT_LT(chat, 400) << "the limits bind";
  EXPECT_GT(chat, 0);
}

TEST_F(Metrics, CountsTokensAndRatesFollowFromTheRows) {
  const json& summary = run().summary;
  const std::size_t done = run().requests.count("status", "completed");
  const std::size_t rejected = run().requests.count("status", "rejected");
  EXPECT_GT(rejected, 0u) << "some of batch exceed the context";
  EXPECT_EQ(done + rejected, run().requests.size());
  EXPECT_EQ(summary.at("requests").at("completed"), done);
  EXPECT_EQ(summary.at("requests").at("rejected"), rejected);
  const auto sum = [](const char* column) {
    const auto all = values("", [&](std::size_t i) { return cell(i, column); });
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  EXPECT_EQ(summary.at("tokens").at("prompt").get<double>(), sum("prompt_tokens"));
  EXPECT_EQ(summary.at("tokens").at("cached").get<double>(), sum("cached_tokens"));
  EXPECT_EQ(summary.at("tokens").at("output").get<double>(), sum("output_tokens"));
  const std::vector<double> arrivals = run().requests.numbers("arrival_s"), ends = run().requests.numbers("finish_s");
  const double span = *std::max_element(ends.begin(), ends.end()) - *std::min_element(arrivals.begin(), arrivals.end());
  const json& rates = summary.at("throughput");
  EXPECT_NEAR(rates.at("requests_per_s").get<double>(), static_cast<double>(done) / span, 1e-9);
  EXPECT_NEAR(rates.at("output_tokens_per_s").get<double>(), sum("output_tokens") / span, 1e-6);
  EXPECT_NEAR(rates.at("per_gpu").at("output_tokens_per_s").get<double>(), sum("output_tokens") / span / 2, 1e-6);
}

TEST_F(Metrics, ArrivalsStopAtTheDurationAndTheRestDrains) {
  double last_arrival = 0, last_finish = 0;
  for (std::size_t i = 0; i < run().requests.size(); ++i) {
    if (run().requests.text(i, "class") != "batch") continue;
    last_arrival = std::max(last_arrival, cell(i, "arrival_s"));
    if (completed(i)) last_finish = std::max(last_finish, cell(i, "finish_s"));
  }
  EXPECT_LT(last_arrival, 20);
  EXPECT_GT(last_finish, 20);
  EXPECT_EQ(run().requests.count("status", "unfinished"), 0u);
}

TEST_F(Metrics, RejectedRowsHaveAReasonAndNothingElse) {
  for (std::size_t i = 0; i < run().requests.size(); ++i) {
    if (completed(i)) {
      EXPECT_EQ(run().requests.text(i, "reason"), "");
      continue;
    }
    EXPECT_EQ(run().requests.text(i, "reason"), "prompt and output exceed max_model_len");
    for (const char* column :
         {"pool", "replica", "scheduled_s", "first_token_s", "finish_s", "ttft_s", "tpot_s", "e2e_s"})
      EXPECT_EQ(run().requests.text(i, column), "") << column;
    EXPECT_EQ(run().requests.text(i, "output_tokens"), "0");
  }
}

TEST_F(Metrics, IterationsAddUpToTheTotals) {
  const Table& steps = run().iterations;
  const json& pool = run().summary.at("pools").at(0);
  ASSERT_GT(steps.size(), 100u);
  EXPECT_EQ(pool.at("iterations").at("count"), steps.size());
  EXPECT_NEAR(pool.at("iterations").at("mean_tokens").get<double>(), mean(steps.numbers("tokens")), 1e-9);
  EXPECT_NEAR(pool.at("iterations").at("mean_requests").get<double>(), mean(steps.numbers("requests")), 1e-9);
  EXPECT_EQ(steps.sum("preempted"), run().requests.sum("preemptions"));
  EXPECT_EQ(pool.at("kv").at("preemptions").get<double>(), run().requests.sum("preemptions"));
  EXPECT_GT(run().requests.sum("preemptions"), 0) << "1,200 blocks are too few";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_LT(steps.number(i, "start_s"), steps.number(i, "end_s"));
    EXPECT_EQ(steps.number(i, "tokens"), steps.number(i, "decodes") + steps.number(i, "prefill_tokens"));
    EXPECT_LE(steps.number(i, "tokens"), 8192);
    EXPECT_LE(steps.number(i, "kv_blocks"), 1200);
  }
}

/// Tokens of all iterations: of each request its prompt and outputs but the last, less what was cached; and what
/// preemptions made to be computed again, from where the request had come to where it starts again.
TEST_F(Metrics, DecisionsAgreeWithTheRequests) {
  std::map<std::uint64_t, double> first_scheduled, first_computed, reached;
  std::map<std::uint64_t, int> preempted, admitted;
  double tokens = 0, expected = 0;
  for (const json& row : run().decisions) {
    double in_call = 0;
    std::set<std::uint64_t> ids;
    for (const json& entry : row.at("scheduled")) {
      const std::uint64_t id = entry[0];
      EXPECT_TRUE(ids.insert(id).second) << "once a call";
      in_call += entry[1].get<double>();
      const double computed = entry[2];
      if (reached.count(id)) expected += reached[id] - computed;
      reached[id] = computed + entry[1].get<double>();
      if (first_scheduled.emplace(id, row.at("time_s")).second) first_computed[id] = entry[2];
    }
    tokens += in_call;
    for (const json& id : row.at("preempted")) ++preempted[id];
    for (const json& id : row.at("admitted")) ++admitted[id];
  }
  EXPECT_EQ(tokens, run().iterations.sum("tokens"));
  for (std::size_t i = 0; i < run().requests.size(); ++i) {
    const auto id = static_cast<std::uint64_t>(cell(i, "id"));
    EXPECT_EQ(first_scheduled.count(id), completed(i) ? 1u : 0u);
    if (!completed(i)) continue;
    expected += cell(i, "prompt_tokens") + cell(i, "output_tokens") - 1 - cell(i, "cached_tokens");
    EXPECT_EQ(reached[id], cell(i, "prompt_tokens") + cell(i, "output_tokens") - 1);
    EXPECT_EQ(first_scheduled[id], cell(i, "scheduled_s"));
    EXPECT_EQ(first_computed[id], cell(i, "cached_tokens"));
    EXPECT_EQ(preempted[id], cell(i, "preemptions"));
    EXPECT_EQ(admitted[id], cell(i, "preemptions") + 1) << "again after each preemption";
  }
  EXPECT_EQ(tokens, expected);
}

TEST_F(Metrics, ChecksAreNamed) {
  std::set<std::string> names;
  for (const json& check : run().summary.at("checks")) names.insert(check.at("name"));
  for (const char* name : {"time_never_runs_back", "kv_blocks_balance", "kv_references_return", "output_tokens_balance",
                           "requests_add_up", "request_times_in_order"})
    EXPECT_TRUE(names.count(name)) << name;
}

TEST(Unfinished, RowsOfAnInterruptedRunSaySo) {
  const cli::Scratch scratch;
  cli::DoolyProcess process({"run", scenario_path("synthetic.yaml"), "--set", "workload.synthetic.requests=1000000000",
                             "--out", scratch.name("out"), "--quiet"});
  for (int i = 0; i < 1000 && !std::filesystem::exists(scratch / "out" / ".requests.csv.dooly-tmp"); ++i)
    ::usleep(10'000);
  ::usleep(300'000);
  process.send(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  const Table rows(scratch / "out" / "requests.csv");
  const json summary = json::parse(cli::read_file(scratch / "out" / "summary.json"));
  const std::size_t unfinished = rows.count("status", "unfinished");
  EXPECT_GT(unfinished, 0u);
  EXPECT_EQ(rows.count("reason", "the run was interrupted"), unfinished);
  EXPECT_EQ(summary.at("requests").at("unfinished"), unfinished);
  EXPECT_EQ(summary.at("requests").at("submitted"), rows.size());
  EXPECT_EQ(summary.at("partial").at("reason"), "interrupted");
}

}  // namespace
}  // namespace dooly::e2e
