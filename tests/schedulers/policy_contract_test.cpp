// What every policy owes to every engine, whatever it decides: run for each registered policy, the example plug-in's
// and one that schedules each request by hand, over a fake engine and the production one.

#include "engine_under_test.hpp"

#include "schedulers/builtin.hpp"
#include "schedulers/component.hpp"
#include "schedulers/plugin_loader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace dooly::test {
namespace {

using sdk::Plan;
using sdk::RequestView;

/// Serves the running list backwards and without schedule_running(), then admits from the head.
class ByHand final : public sdk::SchedulerPolicy {
 public:
  void schedule(Plan& plan) override {
    std::vector<RequestView> running;
    plan.for_each_running([&](const RequestView& request) { running.push_back(request); });
    bool preempted = false;
    for (std::size_t left = running.size(); left > 0; --left) {
      const RequestView& request = running[left - 1];
      const std::uint32_t tokens = std::min(request.remaining(), plan.budget());
      if (tokens == 0) continue;
      if (plan.try_allocate(request.id, tokens)) {
        plan.schedule(request.id, tokens);
      } else {
        plan.preempt(request.id);
        preempted = true;
      }
    }
    if (preempted) return;
    while (plan.budget() > 0 && plan.running_count() < plan.limits().max_num_seqs) {
      const RequestView* const next = plan.next_waiting();
      if (next == nullptr || !admit(plan, *next)) return;
    }
  }

 private:
  static bool admit(Plan& plan, RequestView request) {
    const sdk::PrefixHit hit = plan.find_prefix(request.id);
    if (!hit.known) {
      plan.skip(request.id);
      return true;
    }
    if (hit.loads) return plan.start_load(request.id);
    std::uint32_t tokens = request.prompt + request.generated - request.computed - hit.tokens();
    if (!plan.limits().enable_chunked_prefill && tokens > plan.budget()) return false;
    tokens = std::min(tokens, plan.budget());
    if (!plan.try_allocate(request.id, tokens)) return false;
    plan.admit(request.id, tokens);
    return true;
  }
};

struct PolicyCase {
  std::string name;
  std::function<std::unique_ptr<sdk::SchedulerPolicy>()> make;
};

std::vector<PolicyCase> every_policy() {
  std::vector<PolicyCase> cases;
  for (const sdk::PolicyEntry& entry : schedulers::builtin_policies()) {
    cases.push_back({entry.name, [&entry] { return entry.create(sdk::default_options(entry.options)); }});
  }
  const auto with = [&](const char* name, const char* policy, schedulers::GivenOptions options, const char* plugin) {
    cases.push_back({name, [=] {
                       const std::filesystem::path path = plugin == nullptr ? "" : plugin;
                       const schedulers::Choice choice{plugin == nullptr ? nullptr : &path, policy, options};
                       return schedulers::find_policy(choice).make();
                     }});
  };
  with("static3", "static", {{"batch_size", "3"}}, nullptr);
  with("shortest_job", "shortest-job", {}, EXAMPLES_PLUGIN);
  with("shortest_job_preempting", "shortest-job", {{"preempt", "true"}, {"aging", "0"}}, EXAMPLES_PLUGIN);
  cases.push_back({"by_hand", [] { return std::make_unique<ByHand>(); }});
  return cases;
}

constexpr sdk::Limits kLimits{
    .max_num_batched_tokens = 512, .max_num_seqs = 16, .max_model_len = 2048, .block_size = 16};

sdk::Limits with(void (*change)(sdk::Limits&)) {
  sdk::Limits limits = kLimits;
  change(limits);
  return limits;
}

std::vector<TestSettings> every_setting() {
  return {
      {"ample", kLimits, 4000},
      {"few_blocks", kLimits, 64},
      {"small_budget", with([](sdk::Limits& l) { l.max_num_batched_tokens = 16; }), 4000},
      {"one_at_a_time", with([](sdk::Limits& l) { l.max_num_seqs = 1; }), 64},
      {"threshold", with([](sdk::Limits& l) { l.long_prefill_token_threshold = 40; }), 100},
      {"whole_prompts", with([](sdk::Limits& l) { l.enable_chunked_prefill = false; }), 100},
      {"no_reserve", with([](sdk::Limits& l) { l.reserves_full_prompt = false; }), 64},
      {"priority", with([](sdk::Limits& l) { l.by_priority = true; }), 64},
      {"async", kLimits, 4000, true},
      {"async_few_blocks", kLimits, 64, true},
      {"async_priority", with([](sdk::Limits& l) { l.by_priority = true; }), 64, true},
      {"loads", kLimits, 100, false, true},
      {"async_loads", kLimits, 100, true, true},
  };
}

/// Requests that all fit into 64 blocks of 16 tokens.
std::vector<TestRequest> random_requests(std::uint32_t seed, bool loads) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  std::vector<TestRequest> requests;
  std::uint32_t step = 0;
  for (int i = 0; i < 60; ++i) {
    step += below(8) == 0 ? 40 : below(4);
    TestRequest request{.prompt = 1 + below(400), .output = 1 + below(80), .arrival_step = step};
    request.priority = static_cast<std::int32_t>(below(3));
    if (below(4) == 0) request.shared_prefix = std::min(160U, request.prompt);
    if (below(6) == 0) request.unknown_lookups = 1 + below(2);
    if (below(10) == 0) request.abort_after = 1 + below(40);
    request.loads = loads && below(3) == 0;
    requests.push_back(request);
  }
  return requests;
}

struct RunResult {
  std::uint64_t digest = 0;
  std::size_t finished = 0;
  std::size_t aborted = 0;
};

/// Drives requests to their end. Fails the test if nothing at all moves for a while.
RunResult drive(EngineUnderTest& engine, const std::vector<TestRequest>& requests) {
  constexpr std::uint32_t kPatience = 12;  // steps; a load takes 3, an unknown look-up at most 2
  std::vector<bool> gone(requests.size());
  std::vector<std::uint32_t> finished;
  std::size_t next = 0;
  RunResult result;
  std::uint32_t idle_steps = 0;
  for (std::uint32_t step = 0; next < requests.size() || !engine.is_idle(); ++step) {
    for (; next < requests.size() && requests[next].arrival_step <= step; ++next) {
      engine.add(static_cast<std::uint32_t>(next), requests[next]);
    }
    for (std::size_t i = 0; i < next; ++i) {
      if (gone[i] || requests[i].abort_after == 0 || requests[i].arrival_step + requests[i].abort_after != step)
        continue;
      engine.abort(static_cast<std::uint32_t>(i));
      gone[i] = true;
      ++result.aborted;
    }
    finished.clear();
    const bool had_work = !engine.is_idle();
    const std::uint32_t tokens = engine.step(finished);
    for (const std::uint32_t number : finished) {
      EXPECT_FALSE(gone[number]) << "request " << number << " finishes twice or after its abort";
      gone[number] = true;
    }
    result.finished += finished.size();
    idle_steps = tokens > 0 || !had_work ? 0 : idle_steps + 1;
    if (idle_steps > kPatience || step > 200000) {
      ADD_FAILURE() << "no progress at step " << step;
      break;
    }
    if (::testing::Test::HasFailure()) break;
  }
  result.digest = engine.checked().digest();
  return result;
}

class EveryPolicy : public ::testing::TestWithParam<std::tuple<PolicyCase, TestSettings, bool>> {
 protected:
  const PolicyCase& policy() const { return std::get<0>(GetParam()); }
  const TestSettings& settings() const { return std::get<1>(GetParam()); }
  std::unique_ptr<EngineUnderTest> make(sdk::SchedulerPolicy& scheduler) const {
    return std::get<2>(GetParam()) ? make_real_engine(settings(), scheduler) : make_fake_engine(settings(), scheduler);
  }
};

TEST_P(EveryPolicy, KeepsTheRulesAndFinishesEverything) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto requests = random_requests(seed, settings().loads);
    const auto scheduler = policy().make();
    const auto engine = make(*scheduler);
    const RunResult result = drive(*engine, requests);
    EXPECT_EQ(result.finished + result.aborted, requests.size());
    EXPECT_TRUE(engine->is_idle());
    EXPECT_EQ(engine->blocks_held(), 0U);
    EXPECT_GE(engine->checked().admissions(), result.finished);
    if (HasFailure()) return;
  }
}

TEST_P(EveryPolicy, DecidesTheSameAgain) {
  std::uint64_t digests[2];
  for (std::uint64_t& digest : digests) {
    const auto scheduler = policy().make();
    digest = drive(*make(*scheduler), random_requests(99, settings().loads)).digest;
  }
  EXPECT_EQ(digests[0], digests[1]);
}

std::vector<std::tuple<PolicyCase, TestSettings, bool>> every_case() {
  std::vector<std::tuple<PolicyCase, TestSettings, bool>> cases;
  for (const PolicyCase& policy : every_policy()) {
    for (const TestSettings& settings : every_setting()) {
      if (!settings.asynchronous && !settings.loads) cases.emplace_back(policy, settings, false);
      cases.emplace_back(policy, settings, true);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, EveryPolicy, ::testing::ValuesIn(every_case()), [](const auto& made) {
  std::string name = std::get<0>(made.param).name + "_" + std::get<1>(made.param).name +
                     (std::get<2>(made.param) ? "_engine" : "_fake");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace dooly::test
