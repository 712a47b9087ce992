#include "schedulers/component.hpp"

#include "dooly/sdk/testing/fake_router_view.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace dooly::schedulers {
namespace {

using sdk::ReplicaSignal;
using sdk::RouterPolicy;
using sdk::testing::FakeRouterView;

std::unique_ptr<RouterPolicy> make(std::string_view name, const GivenOptions& options = {}) {
  return find_router({.name = name, .options = options}).make();
}

std::vector<int> counts(RouterPolicy& router, const FakeRouterView& view, int picks) {
  std::vector<int> per_replica(view.replicas());
  for (int i = 0; i < picks; ++i) ++per_replica.at(router.pick(view, {.prompt = 100}));
  return per_replica;
}

TEST(RoundRobin, EveryReplicaGetsTheSame) {
  const FakeRouterView view(std::vector<ReplicaSignal>(7));
  EXPECT_EQ(counts(*make("round_robin"), view, 703), (std::vector<int>{101, 101, 101, 100, 100, 100, 100}));
}

TEST(RoundRobin, ItsOwnCounterIgnoresLoad) {
  const FakeRouterView view({{.requests = 1000}, {.requests = 0}});
  const auto router = make("round_robin");
  EXPECT_EQ(router->pick(view, {}), 0U);
  EXPECT_EQ(router->pick(view, {}), 1U);
  EXPECT_EQ(router->pick(view, {}), 0U);
}

TEST(Random, EveryReplicaIsAsLikely) {
  const FakeRouterView view(std::vector<ReplicaSignal>(4));
  // 40,000 draws of probability 1/4: 10,000 each, standard deviation 87.
  for (const int count : counts(*make("random"), view, 40000)) EXPECT_NEAR(count, 10000, 5 * 87);
}

TEST(LeastRequests, TiesGoToTheLowestNumber) {
  const auto router = make("least_requests");
  EXPECT_EQ(router->pick(FakeRouterView({{.requests = 3}, {.requests = 1}, {.requests = 1}}), {}), 1U);
  EXPECT_EQ(router->pick(FakeRouterView(std::vector<ReplicaSignal>(3)), {}), 0U);
}

TEST(LeastTokens, LooksAtTokensNotAtRequests) {
  const auto router = make("least_tokens");
  EXPECT_EQ(router->pick(
                FakeRouterView(
                    {{.requests = 1, .tokens = 900}, {.requests = 5, .tokens = 800}, {.requests = 5, .tokens = 800}}),
                {}),
            1U);
}

TEST(PowerOfTwo, OneReplicaNeedsNoDraw) {
  EXPECT_EQ(make("power_of_two")->pick(FakeRouterView(std::vector<ReplicaSignal>(1)), {}), 0U);
}

TEST(PowerOfTwo, AmongEqualsEveryReplicaIsAsLikely) {
  const FakeRouterView view(std::vector<ReplicaSignal>(5));
  // 50,000 draws of probability 1/5: 10,000 each, standard deviation 89.
  for (const int count : counts(*make("power_of_two"), view, 50000)) EXPECT_NEAR(count, 10000, 5 * 89);
}

TEST(PowerOfTwo, TheMostLoadedOfFourIsNeverPickedAndTheLeastLoadedInHalfOfTheDraws) {
  const FakeRouterView view({{.requests = 4}, {.requests = 3}, {.requests = 2}, {.requests = 1}});
  // Of the 6 pairs the k-th least loaded wins 3, 2, 1, 0.
  const auto per_replica = counts(*make("power_of_two"), view, 60000);
  EXPECT_EQ(per_replica[0], 0);
  EXPECT_NEAR(per_replica[1], 10000, 5 * 92);
  EXPECT_NEAR(per_replica[2], 20000, 5 * 116);
  EXPECT_NEAR(per_replica[3], 30000, 5 * 123);
}

TEST(PowerOfTwo, MayCompareTokens) {
  const FakeRouterView view({{.requests = 0, .tokens = 10}, {.requests = 9, .tokens = 5}});
  EXPECT_EQ(counts(*make("power_of_two", {{"load", "tokens"}}), view, 100), (std::vector<int>{0, 100}));
  EXPECT_EQ(counts(*make("power_of_two"), view, 100), (std::vector<int>{100, 0}));
}

TEST(PrefixAware, ACachedPrefixDrawsUntilTheQueueIsTooLong) {
  // cost = prompt - cached + load_weight x tokens
  const auto router = make("prefix_aware", {{"load_weight", "0.5"}});
  FakeRouterView view({{.tokens = 0}, {.tokens = 1000}, {.tokens = 1000}});
  view.cached = {0, 512, 496};  // 100 + 0 | 100 - 512 + 500 | 100 - 496 + 500
  EXPECT_EQ(router->pick(view, {.prompt = 100}), 1U);
  view.signals[1].tokens = view.signals[2].tokens = 1024;  // 100 - 512 + 512: a tie, the lowest number wins
  EXPECT_EQ(router->pick(view, {.prompt = 100}), 0U);
}

TEST(PrefixAware, WithoutLoadWeightTheCacheDecidesAlone) {
  FakeRouterView view({{.tokens = 0}, {.tokens = 1000000}});
  view.cached = {0, 16};
  EXPECT_EQ(make("prefix_aware", {{"load_weight", "0"}})->pick(view, {.prompt = 100}), 1U);
  EXPECT_EQ(make("prefix_aware", {{"cache_weight", "0"}})->pick(view, {.prompt = 100}), 0U);
}

TEST(EveryRouter, AsksOnlyForWhatItLooksAt) {
  using Needs = RouterPolicy::Needs;
  for (const auto& [name, needs] : std::vector<std::pair<std::string, Needs>>{{"round_robin", Needs::kNothing},
                                                                              {"random", Needs::kNothing},
                                                                              {"least_requests", Needs::kCounts},
                                                                              {"least_tokens", Needs::kCounts},
                                                                              {"power_of_two", Needs::kCounts},
                                                                              {"prefix_aware", Needs::kCacheState}}) {
    EXPECT_EQ(make(name)->needs(), needs) << name;
  }
}

/// A pool whose figures are `delay` picks old: what a router makes of stale signals. Nothing ever finishes.
std::vector<std::uint32_t> loads_with_stale_signals(RouterPolicy& router, std::size_t delay, int picks) {
  FakeRouterView view(std::vector<ReplicaSignal>(4));
  std::vector<std::uint32_t> loads(4);
  std::vector<std::uint32_t> history;
  for (int i = 0; i < picks; ++i) {
    if (history.size() >= delay + 1) ++view.signals[history[history.size() - delay - 1]].requests;
    const std::uint32_t replica = router.pick(view, {.prompt = 10});
    history.push_back(replica);
    ++loads[replica];
  }
  return loads;
}

TEST(LeastRequests, FreshSignalsBalanceExactlyAndStaleOnesComeInWaves) {
  const auto router = make("least_requests");
  EXPECT_EQ(loads_with_stale_signals(*router, 0, 400), (std::vector<std::uint32_t>{100, 100, 100, 100}));
  // 50 picks late: the first 51 all see an idle replica 0.
  const auto stale = loads_with_stale_signals(*make("least_requests"), 50, 51);
  EXPECT_EQ(stale, (std::vector<std::uint32_t>{51, 0, 0, 0}));
}

TEST(PowerOfTwo, StaleSignalsSpreadBetterThanTheLeastLoaded) {
  const auto spread = [](const std::vector<std::uint32_t>& loads) {
    return *std::max_element(loads.begin(), loads.end()) - *std::min_element(loads.begin(), loads.end());
  };
  EXPECT_LT(spread(loads_with_stale_signals(*make("power_of_two"), 100, 1000)),
            spread(loads_with_stale_signals(*make("least_requests"), 100, 1000)));
}

TEST(EveryRouter, DecidesTheSameAgain) {
  for (const char* name : {"round_robin", "random", "least_requests", "least_tokens", "power_of_two", "prefix_aware"}) {
    EXPECT_EQ(loads_with_stale_signals(*make(name), 10, 500), loads_with_stale_signals(*make(name), 10, 500)) << name;
  }
}

}  // namespace
}  // namespace dooly::schedulers
