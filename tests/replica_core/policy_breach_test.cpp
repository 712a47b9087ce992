// A policy that breaks a rule of the plan ends the run with the rule, the request and the scheduling call.
#include "solo.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace dooly::test {
namespace {

using sdk::Plan;
using sdk::RequestId;

class Scripted final : public sdk::SchedulerPolicy {
 public:
  explicit Scripted(std::function<void(Plan&, int)> act) : act_(std::move(act)) {}
  void schedule(Plan& plan) override { act_(plan, calls_++); }

 private:
  std::function<void(Plan&, int)> act_;
  int calls_ = 0;
};

RequestId admit_head(Plan& plan, std::uint32_t tokens) {
  const RequestId id = plan.next_waiting()->id;
  EXPECT_TRUE(plan.try_allocate(id, tokens));
  plan.admit(id, tokens);
  return id;
}

replica::EngineConfig small() {
  replica::EngineConfig config = plain_config(50);
  config.max_num_batched_tokens = 16;
  config.max_num_seqs = 2;
  config.max_model_len = 24;
  return config;
}

/// Message of the breach when requests 41, 42, 43 (8 tokens in, 5 out) are run by `act`, which gets the plan and the
/// number of the call; empty: none.
std::string breach(std::function<void(Plan&, int)> act, replica::EngineConfig config = small()) {
  Solo solo(config, linear_ms(10, 0), std::make_unique<Scripted>(std::move(act)));
  for (const replica::RequestTag tag : {41U, 42U, 43U}) solo.at(0, tag, 8, 5);
  try {
    solo.run();
  } catch (const replica::PolicyBreach& broken) {
    return broken.what();
  }
  return {};
}

std::string in_call(int call, const std::string& rule, int request) {
  return "policy broke a rule in scheduling call " + std::to_string(call) + ": " + rule + " (request " +
         std::to_string(request) + ")";
}

TEST(PolicyBreach, MoreTokensThanTheBudget) {
  replica::EngineConfig config = small();
  config.max_num_batched_tokens = 12;
  EXPECT_EQ(breach([](Plan& plan, int) { admit_head(plan, 8), admit_head(plan, 8); }, config),
            in_call(0, "over the token budget", 42));
}

TEST(PolicyBreach, MoreRequestsThanSeats) {
  EXPECT_EQ(breach([](Plan& plan, int) { admit_head(plan, 4), admit_head(plan, 4), admit_head(plan, 4); }),
            in_call(0, "over max_num_seqs", 43));
}

TEST(PolicyBreach, TokensWithoutBlocks) {
  EXPECT_EQ(breach([](Plan& plan, int) { plan.admit(plan.next_waiting()->id, 8); }),
            in_call(0, "admission without an allocation of as many tokens", 41));
  EXPECT_EQ(breach([](Plan& plan, int) {
              const RequestId id = plan.next_waiting()->id;
              plan.try_allocate(id, 4);
              plan.admit(id, 8);
            }),
            in_call(0, "admission without an allocation of as many tokens", 41));
  EXPECT_EQ(breach([](Plan& plan, int call) {
              if (call == 0) admit_head(plan, 4);
              if (call == 1) plan.schedule(plan.last_running(), 4);
            }),
            in_call(1, "schedule without an allocation of as many tokens", 41));
}

TEST(PolicyBreach, SteadyDecodesNeedAnAllocationToo) {
  EXPECT_NE(breach([](Plan& plan, int call) {
              if (call == 0) admit_head(plan, 8);
              if (call == 1) plan.schedule(plan.last_running(), 1);
            }).find("(request 41)"),
            std::string::npos);
}

TEST(PolicyBreach, BlocksThatNobodyUses) {
  EXPECT_EQ(breach([](Plan& plan, int) { plan.try_allocate(plan.next_waiting()->id, 8); }),
            in_call(0, "an allocation that was not scheduled", 41));
}

TEST(PolicyBreach, TwoAllocationsForOneRequest) {
  EXPECT_EQ(breach([](Plan& plan, int) {
              const RequestId id = plan.next_waiting()->id;
              plan.try_allocate(id, 4);
              plan.try_allocate(id, 4);
            }),
            in_call(0, "a second allocation without scheduling the first", 41));
}

TEST(PolicyBreach, AdmittingTwice) {
  EXPECT_EQ(breach([](Plan& plan, int) { plan.admit(admit_head(plan, 8), 8); }),
            in_call(0, "admission of a request that does not wait", 41));
}

TEST(PolicyBreach, SchedulingTwiceInOneCall) {
  EXPECT_EQ(breach([](Plan& plan, int call) {
              if (call == 0) admit_head(plan, 8);
              if (call == 1) {
                plan.schedule_running();
                plan.try_allocate(plan.last_running(), 1);
              }
            }),
            in_call(1, "allocation for a request that is scheduled already", 41));
}

TEST(PolicyBreach, MoreTokensThanTheRequestHas) {
  EXPECT_EQ(breach([](Plan& plan, int) { admit_head(plan, 9); }),
            in_call(0, "more tokens than the request has left", 41));
  EXPECT_EQ(breach([](Plan& plan, int call) {
              if (call == 0) admit_head(plan, 4);
              if (call == 1 && plan.try_allocate(plan.last_running(), 5)) plan.schedule(plan.last_running(), 5);
            }),
            in_call(1, "more tokens than the request has left", 41));
}

TEST(PolicyBreach, NoTokens) {
  EXPECT_EQ(breach([](Plan& plan, int) { plan.try_allocate(plan.next_waiting()->id, 0); }),
            in_call(0, "allocation of no tokens", 41));
  EXPECT_EQ(breach([](Plan& plan, int call) {
              if (call == 0) admit_head(plan, 4);
              if (call == 1) plan.schedule(plan.last_running(), 0);
            }),
            in_call(1, "schedule without an allocation of as many tokens", 41));
}

// Request 41 gets its 8 tokens, then one a call, and ends with the call 4 (five tokens out).
TEST(PolicyBreach, AFinishedRequestTakesNoAction) {
  static RequestId first;
  const auto run_one = [](Plan& plan, int call) {
    if (call == 0) first = admit_head(plan, 8);
    if (call >= 1 && call < 5) plan.schedule_running();
  };
  for (const char* action : {"schedule", "preempt", "admit", "find", "skip", "allocate", "view"}) {
    const std::string message = breach([&](Plan& plan, int call) {
      run_one(plan, call);
      if (call < 5) return;
      const std::string name = action;
      if (name == "schedule") plan.schedule(first, 1);
      if (name == "preempt") plan.preempt(first);
      if (name == "admit") plan.admit(first, 1);
      if (name == "find") plan.find_prefix(first);
      if (name == "skip") plan.skip(first);
      if (name == "allocate") plan.try_allocate(first, 1);
      if (name == "view") plan.view(first);
    });
    EXPECT_NE(message.find("scheduling call 5:"), std::string::npos) << action << ": " << message;
    EXPECT_NE(message.find("(request 41)"), std::string::npos) << action << ": " << message;
  }
}

TEST(PolicyBreach, NobodyAtAll) {
  const std::string message = breach([](Plan& plan, int) { plan.preempt(plan.last_running()); });
  EXPECT_EQ(message, "policy broke a rule in scheduling call 0: an action on no request");
  EXPECT_NE(breach([](Plan& plan, int) { plan.try_allocate(sdk::kNoRequest, 1); }), "");
  EXPECT_NE(breach([](Plan& plan, int) { plan.scheduled_now(sdk::kNoRequest); }), "");
  EXPECT_NE(breach([](Plan& plan, int) { plan.view(RequestId{77}); }), "");
}

TEST(PolicyBreach, ARequestThatWasPassedOver) {
  EXPECT_EQ(breach([](Plan& plan, int) {
              const RequestId id = plan.next_waiting()->id;
              plan.skip(id);
              plan.try_allocate(id, 8);
            }),
            in_call(0, "allocation for a request that is held back or has left", 41));
  EXPECT_EQ(breach([](Plan& plan, int) {
              const RequestId id = plan.next_waiting()->id;
              plan.skip(id);
              plan.skip(id);
            }),
            in_call(0, "skip of a request that does not wait", 41));
}

TEST(PolicyBreach, PreemptingWhoDoesNotRun) {
  EXPECT_EQ(breach([](Plan& plan, int) { plan.preempt(plan.next_waiting()->id); }),
            in_call(0, "preemption of a request that does not run", 41));
}

TEST(PolicyBreach, LoadingWhatNeedsNoLoad) {
  EXPECT_EQ(breach([](Plan& plan, int) { plan.start_load(plan.next_waiting()->id); }),
            in_call(0, "load of a request that has nothing to load", 41));
}

// Asynchronous, model length 10: with 9 tokens computed a tenth would have no place.
TEST(PolicyBreach, BeyondTheModelLength) {
  replica::EngineConfig config = small();
  config.max_model_len = 10;
  config.async_scheduling = true;
  const std::string message = breach(
      [](Plan& plan, int call) {
        if (call == 0) {
          admit_head(plan, 8);
        } else if (plan.running_count() > 0) {
          const RequestId id = plan.last_running();
          if (plan.try_allocate(id, 1)) plan.schedule(id, 1);
        }
      },
      config);
  EXPECT_EQ(message, in_call(2, "beyond max_model_len", 41));
}

// Two waiting requests share a prefix that is cached. Admitting another request evicts it: the hit no longer holds.
TEST(PolicyBreach, AHitFoundBeforeItWasEvicted) {
  replica::EngineConfig config = plain_config(4);
  config.enable_prefix_caching = true;
  const replica::ContentPath shared{{replica::chain_key(0, 0, 5, 0), 8, false}};
  const auto act = [](Plan& plan, int call) {
    if (call == 0) admit_head(plan, 9);  // 41: three blocks, two of them keyed, then gone
    if (call != 2) return;
    std::vector<RequestId> waiting;
    plan.for_each_waiting([&](const sdk::RequestView& view) { waiting.push_back(view.id); });
    EXPECT_EQ(plan.find_prefix(waiting[0]).local, 8U);
    EXPECT_TRUE(plan.try_allocate(waiting[1], 16));
    plan.admit(waiting[1], 16);
    plan.try_allocate(waiting[0], 1);
  };
  Solo solo(config, linear_ms(10, 0), std::make_unique<Scripted>(act));
  solo.at(0, 41, 9, 1).content = shared;
  solo.at(0.5, 42, 9, 1).content = shared;
  solo.at(0.5, 43, 16, 1);
  try {
    solo.run();
    FAIL() << "nothing was refused";
  } catch (const replica::PolicyBreach& broken) {
    EXPECT_EQ(std::string(broken.what()),
              in_call(2, "an outdated prefix hit: find_prefix comes right before try_allocate", 42));
  }
}

TEST(PolicyBreach, ALawfulPolicyIsNotDisturbed) {
  EXPECT_EQ(breach([](Plan& plan, int) {
              plan.schedule_running();
              while (plan.budget() >= 8 && plan.running_count() < 2 && plan.next_waiting() != nullptr)
                admit_head(plan, 8);
            }),
            "");
}

}  // namespace
}  // namespace dooly::test
