#include "scenarios/write.hpp"

#include "random_scenario.hpp"
#include "test_files.hpp"

#include <gtest/gtest.h>

namespace dooly::scenario {
namespace {

void expect_round_trip(const Scenario& scenario, const std::string& from) {
  const std::string text = explain(scenario);
  try {
    const Scenario again = test::load(text);
    EXPECT_TRUE(again == scenario) << from << "\n---\n" << text;
    EXPECT_EQ(explain(again), text);
  } catch (const ScenarioError& error) {
    FAIL() << error.what() << "\n" << from << "\n---\n" << text;
  }
}

TEST(Explain, LoadsBackEqual) {
  expect_round_trip(test::load(test::short_form("tp: 2\nreplicas: 3\n")), "short form");
  expect_round_trip(
      test::load(test::two_pools(", nodes: [h.1, h.3], replicas: 2") + "kv_transfer: {first_token: prefill}\n"),
      "two pools");
}

TEST(Explain, EveryKindOfValueLoadsBackEqual) {
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const std::string text = test::RandomScenario(seed, 0).text();
    Scenario scenario;
    try {
      scenario = test::load(text);
    } catch (const ScenarioError&) {
      continue;
    }
    ++accepted;
    expect_round_trip(scenario, text);
    if (HasFailure()) return;
  }
  EXPECT_GT(accepted, 200);
}

TEST(Explain, RandomDamageIsRefusedOrLoaded) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    try {
      expect_round_trip(test::load(test::RandomScenario(seed, 0.03).text()), "damaged");
    } catch (const ScenarioError& error) {
      EXPECT_FALSE(error.messages().empty());
    }
    if (HasFailure()) return;
  }
}

TEST(Explain, NotesStandAboveThePools) {
  const ExplainNotes notes{{"explained"}, [](std::size_t pool) {
                             return std::vector<std::string>{"pool " + std::to_string(pool), "57489 blocks"};
                           }};
  const Scenario scenario = test::load(test::two_pools());
  const std::string text = explain(scenario, notes);
  EXPECT_EQ(text.substr(0, 12), "# explained\n");
  EXPECT_NE(text.find("  # pool 1\n  # 57489 blocks\n  - name: decode\n"), std::string::npos) << text;
  EXPECT_TRUE(test::load(text) == scenario);
}

}  // namespace
}  // namespace dooly::scenario
