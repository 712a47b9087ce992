#include "workload/workload.hpp"

#include "support.hpp"

#include <gtest/gtest.h>

#include <map>

namespace dooly::workload {
namespace {

using namespace test;
using scenario::Arrivals;
using scenario::Fixed;

/// Two sessions of three turns, one second apart: first prompt 100, then 20 new tokens a turn, outputs of 10, think 2
/// s.
scenario::SessionsSpec two_sessions() {
  scenario::SessionsSpec spec;
  spec.sessions = 2;
  spec.arrivals.process = Arrivals::Constant{1};
  spec.turns = Fixed{3};
  spec.think_time_s = Fixed{2};
  spec.first_prompt = Fixed{100};
  spec.turn_prompt = Fixed{20};
  spec.output_tokens = Fixed{10};
  return spec;
}

TEST(Sessions, TurnsGrowAndComeAfterTheAnswerAndTheThinking) {
  const auto all = take_all(*make_workload({named("a", two_sessions())}, 1), 0.5);
  ASSERT_EQ(all.size(), 6U);
  // Answers come 0.5 s after sending: session 0 sends at 0, 2.5, 5; session 1 at 1, 3.5, 6.
  const double arrivals[] = {0, 1, 2.5, 3.5, 5, 6};
  const std::uint32_t prompts[] = {100, 100, 130, 130, 160, 160};
  for (std::size_t i = 0; i < 6; ++i) {
    const Request& request = all[i].request;
    EXPECT_EQ(request.arrival_s, arrivals[i]);
    EXPECT_EQ(request.prompt_tokens, prompts[i]);
    EXPECT_EQ(request.session, i % 2);
    EXPECT_EQ(request.turn, i / 2);
    EXPECT_EQ(request.after_s, i < 2 ? 0 : 2);
    EXPECT_EQ(request.ticket == kNoTicket, i >= 4);  // nobody waits for the last answer
  }
}

TEST(Sessions, AConversationIsOneOpenExclusiveSegment) {
  const auto all = take_all(*make_workload({named("a", two_sessions())}, 1));
  for (const Taken& taken : all) {
    ASSERT_EQ(taken.request.content.size(), 1U);
    EXPECT_EQ(taken.request.content[0].end_token, replica::ContentSegment::kOpenEnd);
    EXPECT_TRUE(taken.request.content[0].exclusive);
    EXPECT_EQ(taken.request.content[0].key, all[taken.request.session].request.content[0].key);
  }
  EXPECT_NE(all[0].request.content[0].key, all[1].request.content[0].key);
}

TEST(Sessions, ASystemPrefixIsSharedBetweenSessionsAndStaysThroughTheTurns) {
  auto spec = two_sessions();
  spec.prefix = scenario::PrefixGroups{1, 64, 1};
  const auto all = take_all(*make_workload({named("a", spec)}, 1));
  for (const Taken& taken : all) {
    ASSERT_EQ(taken.request.content.size(), 2U);
    EXPECT_EQ(taken.request.content[0].key, all[0].request.content[0].key);
    EXPECT_EQ(taken.request.content[0].end_token, 64U);
    EXPECT_FALSE(taken.request.content[0].exclusive);
    EXPECT_TRUE(taken.request.content[1].exclusive);
  }
  EXPECT_NE(all[0].request.content[1].key, all[1].request.content[1].key);
}

TEST(Sessions, ASessionEndsWithATurnThatFailed) {
  const auto source = make_workload({named("a", two_sessions())}, 1);
  Request request;
  source->take(request);
  source->finished(request.ticket, 0.5, Outcome::kFailed);
  source->take(request);
  EXPECT_EQ(request.session, 1U);
  source->finished(request.ticket, 1.5, Outcome::kRejected);
  EXPECT_TRUE(source->exhausted());
}

TEST(Sessions, LengthsDoNotDependOnHowFastTheyAreServed) {
  auto spec = two_sessions();
  spec.sessions = 50;
  spec.turns = scenario::Uniform{1, 6};
  spec.first_prompt = spec.turn_prompt = spec.output_tokens = scenario::Uniform{1, 1000};
  spec.think_time_s = scenario::Uniform{0, 10};
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::pair<std::uint32_t, double>> slow, fast;
  for (const Taken& t : take_all(*make_workload({named("a", spec)}, 1), 100))
    slow[{t.request.session, t.request.turn}] = {t.request.prompt_tokens, t.request.after_s};
  for (const Taken& t : take_all(*make_workload({named("a", spec)}, 1), 0))
    fast[{t.request.session, t.request.turn}] = {t.request.prompt_tokens, t.request.after_s};
  EXPECT_EQ(slow, fast);
}

TEST(Sessions, ClosedLoopClientsStartASessionAfterTheOther) {
  auto spec = two_sessions();
  spec.arrivals.process = Arrivals::ClosedLoop{1, Fixed{4}};
  const auto all = take_all(*make_workload({named("a", spec)}, 1), 0.5);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[2].request.arrival_s, 5);
  EXPECT_EQ(all[3].request.session, 1U);
  EXPECT_EQ(all[3].request.arrival_s, 9.5);  // 5 + 0.5 + 4
}

TEST(Sessions, MergedSessionsKeepApart) {
  const auto all = take_all(*make_workload({named("a", two_sessions()), named("b", two_sessions())}, 1));
  std::map<std::uint64_t, std::string> owner;
  for (const Taken& taken : all) {
    const auto [found, is_new] = owner.emplace(taken.request.session, taken.class_name);
    EXPECT_EQ(found->second, taken.class_name);
  }
  EXPECT_EQ(owner.size(), 4U);
}

// Three rounds of an agent with tool time between them: the second arrives after the first answer, however slow.
TEST(Sessions, TurnsOfATraceReactToTheSimulatedLatency) {
  const TempFile file("agent.csv",
                      "arrival_s,prompt_tokens,output_tokens,session,turn,after_s\n"
                      "1,100,10,7,0,\n,150,10,7,1,3\n,200,10,7,2,0.5\n2,50,5,,,\n");
  for (const double service_s : {0.25, 8.0}) {
    std::map<std::uint32_t, Request> turns;
    std::size_t count = 0;
    for (const Taken& taken : take_all(*make_workload({named("a", trace_of(file.path(), "dooly"))}, 1), service_s)) {
      ++count;
      if (taken.request.session == 7) turns[taken.request.turn] = taken.request;
    }
    ASSERT_EQ(count, 4U);
    ASSERT_EQ(turns.size(), 3U);
    EXPECT_EQ(turns[1].arrival_s, 1 + service_s + 3);
    EXPECT_EQ(turns[2].arrival_s, 1 + service_s + 3 + service_s + 0.5);
    for (const auto& [turn, request] : turns) {
      EXPECT_TRUE(request.content.back().exclusive);
      EXPECT_EQ(request.content.back().key, turns[0].content.back().key);
    }
  }
}

TEST(Sessions, TurnsWithFixedTimesAreNotExclusive) {
  const TempFile file("chat.csv", "arrival_s,prompt_tokens,output_tokens,session\n1,100,10,7\n2,150,10,7\n");
  const auto all = take_all(*make_workload({named("a", trace_of(file.path(), "dooly"))}, 1), 5);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].request.turn, 1U);
  EXPECT_EQ(all[1].request.arrival_s, 2);
  EXPECT_EQ(all[0].request.content[0].key, all[1].request.content[0].key);
  EXPECT_FALSE(all[0].request.content[0].exclusive);
}

}  // namespace
}  // namespace dooly::workload
