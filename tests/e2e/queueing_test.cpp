#include "program_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

namespace dooly::e2e {
namespace {

constexpr double kService = 0.010;

/// Mean wait of M/D/1, seconds (Pollaczek and Khinchine).
double wait_in_theory(double load) { return load * kService / (2 * (1 - load)); }

/// Half a confidence interval of the mean of correlated values, by 20 batch means (3.9 standard errors: 99.9 % of a
/// t distribution with 19 degrees of freedom).
double tolerance(const std::vector<double>& values) {
  constexpr std::size_t kBatches = 20;
  std::vector<double> means;
  const std::size_t size = values.size() / kBatches;
  for (std::size_t b = 0; b < kBatches; ++b)
    means.push_back(
        mean({values.begin() + static_cast<long>(b * size), values.begin() + static_cast<long>((b + 1) * size)}));
  const double centre = mean(means);
  double squares = 0;
  for (const double one : means) squares += (one - centre) * (one - centre);
  return 3.9 * std::sqrt(squares / (kBatches - 1) / kBatches);
}

std::vector<double> waits(const RunResult& run) {
  std::vector<double> all;
  for (std::size_t i = 0; i < run.requests.size(); ++i)
    all.push_back(run.requests.number(i, "scheduled_s") - run.requests.number(i, "arrival_s"));
  return all;
}

Sets at_load(double load, int replicas, const std::string& more) {
  return {"workload.synthetic.arrivals.rate=" + std::to_string(load * replicas / kService) + "/s",
          "replicas=" + std::to_string(replicas), more};
}

struct Load {
  double load;
  const char* mode;
};
class OneServer : public testing::TestWithParam<Load> {};

TEST_P(OneServer, WaitsAsQueueingTheorySays) {
  const RunResult run = run_scenario(
      "queue.yaml", at_load(GetParam().load, 1, std::string("engine.async_scheduling=") + GetParam().mode));
  ASSERT_EQ(run.process.code, 0) << run.process.err;
  const std::vector<double> wait = waits(run);
  // Exactly: the server is never idle while somebody waits (Lindley's recursion over the same arrivals).
  double free_s = 0, worst = 0;
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const double start = std::max(free_s, run.requests.number(i, "arrival_s"));
    worst = std::max(worst, std::abs(run.requests.number(i, "scheduled_s") - start));
    free_s = start + kService;
    worst = std::max(worst, std::abs(run.requests.number(i, "finish_s") - free_s));
  }
  EXPECT_LT(worst, 1e-7);
  EXPECT_NEAR(mean(wait), wait_in_theory(GetParam().load), tolerance(wait));
  EXPECT_NEAR(run.summary.at("queue_s").at("mean").get<double>(), mean(wait), 1e-12);
}
INSTANTIATE_TEST_SUITE_P(Loads, OneServer,
                         testing::Values(Load{0.5, "true"}, Load{0.5, "false"}, Load{0.8, "true"}, Load{0.8, "false"},
                                         Load{0.95, "true"}, Load{0.95, "false"}));

/// Waits of k servers over these arrivals if each request joins the server that `choose` names, given when each
/// server's requests end.
template <class Choose>
std::vector<double> simulate(const RunResult& run, std::size_t servers, Choose&& choose) {
  std::vector<std::deque<double>> ends(servers);
  std::vector<double> free_s(servers, 0.0), all;
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const double now = run.requests.number(i, "arrival_s");
    for (auto& queue : ends)
      while (!queue.empty() && queue.front() <= now) queue.pop_front();
    const std::size_t server = choose(ends, free_s);
    const double start = std::max(free_s[server], now);
    free_s[server] = start + kService;
    ends[server].push_back(free_s[server]);
    all.push_back(start - now);
  }
  return all;
}

class FourServers : public testing::TestWithParam<double> {};

/// Random choice splits a Poisson stream into Poisson streams: four M/D/1.
TEST_P(FourServers, BehindARandomRouterAreFourQueues) {
  const RunResult run = run_scenario("queue.yaml", at_load(GetParam(), 4, "router=random"));
  const std::vector<double> wait = waits(run);
  EXPECT_NEAR(mean(wait), wait_in_theory(GetParam()), tolerance(wait));
}

/// The shortest queue is what it says, request by request; its mean wait lies between that of one queue for all
/// (M/D/4, which sends everybody to the server that is free first) and that of random choice.
TEST_P(FourServers, BehindLeastRequestsAreNearlyOneQueue) {
  const RunResult run = run_scenario("queue.yaml", at_load(GetParam(), 4, "router=least_requests"));
  const std::vector<double> wait = waits(run);
  const auto shortest = [](const auto& ends, const auto&) {
    std::size_t best = 0;
    for (std::size_t s = 1; s < ends.size(); ++s)
      if (ends[s].size() < ends[best].size()) best = s;
    return best;
  };
  const auto first_free = [](const auto&, const auto& free_s) {
    return static_cast<std::size_t>(std::min_element(free_s.begin(), free_s.end()) - free_s.begin());
  };
  const std::vector<double> expected = simulate(run, 4, shortest);
  double worst = 0;
  for (std::size_t i = 0; i < wait.size(); ++i) worst = std::max(worst, std::abs(wait[i] - expected[i]));
  EXPECT_LT(worst, 1e-7);
  EXPECT_GE(mean(wait), mean(simulate(run, 4, first_free)));
  EXPECT_LT(mean(wait), 0.6 * wait_in_theory(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Loads, FourServers, testing::Values(0.5, 0.8, 0.95));

}  // namespace
}  // namespace dooly::e2e
