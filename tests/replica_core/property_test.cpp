// Random scenarios, run in every way that must give the same. DOOLY_PROPERTY_SCENARIOS says how many (default 3000),
// DOOLY_PROPERTY_SEED with which seed they begin (default 1).
#include "random_scenario.hpp"
#include "scenario_run.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace dooly::test {
namespace {

std::uint64_t setting(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 10);
}

std::string show(const std::string& text) { return text; }
std::string show(const Note& note) { return to_string(note); }
std::string show(std::uint64_t value) { return std::to_string(value); }

/// Empty if equal, else the first difference with what came before it.
template <class Item>
std::string difference(const std::vector<Item>& want, const std::vector<Item>& got) {
  for (std::size_t i = 0; i < std::max(want.size(), got.size()); ++i) {
    if (i < want.size() && i < got.size() && want[i] == got[i]) continue;
    std::string text = "first difference at " + std::to_string(i) + "\n";
    for (std::size_t k = i < 6 ? 0 : i - 6; k < i; ++k) text += "   both " + show(want[k]) + "\n";
    for (std::size_t k = i; k < std::min(i + 3, want.size()); ++k) text += "   want " + show(want[k]) + "\n";
    for (std::size_t k = i; k < std::min(i + 3, got.size()); ++k) text += "   got  " + show(got[k]) + "\n";
    return text;
  }
  return {};
}

/// What differs first between the ways of running the scenario; empty: nothing.
std::string first_disagreement(const RandomScenario& scenario, std::uint64_t& light_steps) {
  using Cache = RunWay::Cache;
  std::string found;
  const auto agree = [&](const char* claim, const auto& want, const auto& got) {
    const std::string text = difference(want, got);
    if (!text.empty()) found = std::string(claim) + " does not hold: " + text;
    return text.empty();
  };
  const Transcript stepped = run(scenario, {.cache = Cache::kRun, .fast_forward = false});
  const Transcript ahead = run(scenario, {.cache = Cache::kRun});
  light_steps += ahead.light_steps;
  // Two ways into endless preemption that vLLM has too: prompts short of blocks while frees are deferred, and, without
  // the full-prompt rule, requests of equal priority and arrival that push each other out in turn.
  const bool may_go_round =
      scenario.config.defer_block_free || (scenario.config.by_priority && !scenario.config.reserve_full_prompt);
  if (!stepped.ended) return may_go_round ? "" : "does not come to an end";
  if (!agree("fast-forward tells the observer the same", stepped.by_stream(), ahead.by_stream())) return found;
  if (!agree("fast-forward sums up the same", stepped.stats, ahead.stats)) return found;

  const Transcript blocks = run(scenario, {.cache = Cache::kBlock, .fast_forward = false, .records = true});
  const Transcript runs = run(scenario, {.cache = Cache::kRun, .fast_forward = false, .records = true});
  if (!agree("both caches decide the same", blocks.decisions, runs.decisions)) return found;
  if (!agree("both caches lead to the same times", blocks.merged(), stepped.merged())) return found;
  if (!agree("both caches sum up the same", blocks.stats, stepped.stats)) return found;
  if (!agree("recording changes nothing", stepped.notes, runs.notes)) return found;

  const Transcript walked = run(scenario, {.cache = Cache::kRunWalk, .fast_forward = false, .records = true});
  if (!agree("walking the running list decides the same", blocks.decisions, walked.decisions)) return found;
  agree("walking the running list leads to the same times", walked.merged(), stepped.merged());
  return found;
}

TEST(RandomScenarios, FastForwardCachesAndEnginePathsAgree) {
  const std::uint64_t first = setting("DOOLY_PROPERTY_SEED", 1);
  const std::uint64_t count = setting("DOOLY_PROPERTY_SCENARIOS", 3000);
  std::uint64_t failures = 0, light_steps = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < setting("DOOLY_PROPERTY_FAILURES", 5); ++seed) {
    const RandomScenario scenario = RandomScenario::draw(seed);
    std::string found;
    try {
      found = first_disagreement(scenario, light_steps);
    } catch (const std::exception& problem) {
      found = problem.what();
    }
    if (found.empty()) continue;
    ++failures;
    ADD_FAILURE() << scenario.describe() << "\n" << found;
  }
  EXPECT_GT(light_steps, count) << "hardly anything was fast-forwarded";
}

}  // namespace
}  // namespace dooly::test
