// The engine that plug-in authors test with must catch what the real one would refuse.

#include "dooly/sdk/testing/fake_engine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace dooly::sdk::testing {
namespace {

class Scripted final : public SchedulerPolicy {
 public:
  explicit Scripted(std::function<void(Plan&)> script) : script_(std::move(script)) {}
  void schedule(Plan& plan) override { script_(plan); }

 private:
  std::function<void(Plan&)> script_;
};

constexpr RequestId kFirst{0};

std::string breach(FakeEngine& engine, std::function<void(Plan&)> script) {
  Scripted policy(std::move(script));
  try {
    engine.step(policy);
  } catch (const Breach& error) {
    return error.what();
  }
  return "(none)";
}

FakeEngine engine_with_one(std::uint32_t prompt) {
  FakeEngine engine(
      {.limits = {.max_num_batched_tokens = 64, .max_num_seqs = 1, .max_model_len = 1024, .block_size = 16},
       .blocks = 20});
  engine.add({.prompt = prompt, .output = 2});
  return engine;
}

TEST(FakeEngine, RefusesWhatThePlanForbids) {
  using Script = std::function<void(Plan&)>;
  const std::pair<const char*, Script> cases[] = {
      {"tokens need an allocation of as many (request 0)", [](Plan& plan) { plan.admit(kFirst, 10); }},
      {"the budget is not exceeded (request 0)",
       [](Plan& plan) {
         plan.try_allocate(kFirst, 65);
         plan.admit(kFirst, 65);
       }},
      {"no more tokens than are known (request 0)", [](Plan& plan) { plan.try_allocate(kFirst, 101); }},
      {"what is allocated must be scheduled (request 0)", [](Plan& plan) { plan.try_allocate(kFirst, 10); }},
      {"only running requests are preempted (request 0)", [](Plan& plan) { plan.preempt(kFirst); }},
      {"only requests of the queues are legal (request 7)", [](Plan& plan) { plan.try_allocate(RequestId{7}, 1); }}};
  for (const auto& [rule, script] : cases) {
    FakeEngine engine = engine_with_one(100);
    EXPECT_EQ(breach(engine, script), rule);
  }
}

TEST(FakeEngine, AFinishedRequestTakesNoAction) {
  FakeEngine engine = engine_with_one(10);
  engine.abort(kFirst);
  EXPECT_EQ(breach(engine, [](Plan& plan) { plan.try_allocate(kFirst, 1); }),
            "a finished request takes no action (request 0)");
}

TEST(FakeEngine, AnAllocationBeyondTheBlocksDoesNotFitAndChangesNothing) {
  FakeEngine engine = engine_with_one(400);  // 25 blocks, there are 20
  Scripted policy([](Plan& plan) {
    EXPECT_FALSE(plan.try_allocate(kFirst, 16));  // the whole prompt must fit
    EXPECT_EQ(plan.free_blocks(), 20U);
  });
  EXPECT_EQ(engine.step(policy).tokens, 0U);
}

TEST(FakeEngine, PreemptionGivesTokensAndBlocksBack) {
  FakeEngine engine = engine_with_one(32);
  Scripted admits([](Plan& plan) {
    plan.try_allocate(kFirst, 32);
    plan.admit(kFirst, 32);
  });
  engine.step(admits);
  Scripted preempts([](Plan& plan) {
    EXPECT_EQ(plan.schedule_running(), Plan::Stop::kDone);
    EXPECT_EQ(plan.budget(), 63U);
    EXPECT_EQ(plan.free_blocks(), 17U);
    plan.preempt(kFirst);
    EXPECT_EQ(plan.budget(), 64U);
    EXPECT_EQ(plan.free_blocks(), 20U);
    EXPECT_EQ(plan.view(kFirst).computed, 0U);
    EXPECT_EQ(plan.view(kFirst).generated, 1U);
  });
  EXPECT_EQ(engine.step(preempts).tokens, 0U);
}

}  // namespace
}  // namespace dooly::sdk::testing
