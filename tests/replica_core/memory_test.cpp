// Hand-computed preemptions and prefix hits. A step takes 10 ms whatever is in it unless a test says otherwise; blocks
// of 4 tokens.
#include "solo.hpp"

#include <gtest/gtest.h>

namespace dooly::test {
namespace {

constexpr double kMs = 1e-3;
constexpr double kTiny = 1e-12;

using Given = std::vector<std::pair<replica::RequestTag, std::uint32_t>>;

// Five blocks. A (8 in, 8 out) and B (8 in, 4 out): prompts 0..10, two blocks each, one left. At 10 A takes it for
// token 9; B finds none, is last itself and gives way. It has 9 tokens known, wants 3 blocks, and A holds 3, then 4.
// A's eighth token comes at 80; B recomputes its 9 tokens 80..90 (second token), then 100 and 110.
TEST(Preemption, TheLastGivesWayAndRecomputes) {
  Solo solo(plain_config(5), linear_ms(10, 0));
  solo.write_down_steps();
  solo.at(0, 1, 8, 8);
  solo.at(0, 2, 8, 4);
  solo.run();
  ASSERT_GE(solo.steps().size(), 9U);
  EXPECT_EQ(solo.steps()[0].given, (Given{{1, 8}, {2, 8}}));
  EXPECT_EQ(solo.steps()[1].given, (Given{{1, 1}}));
  EXPECT_EQ(solo.steps()[1].preempted, (std::vector<replica::RequestTag>{2}));
  EXPECT_EQ(solo.steps()[8].given, (Given{{2, 9}}));
  EXPECT_NEAR(solo.fate(1).done.client_s, 80 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).first_client_s, 10 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).done.client_s, 110 * kMs, kTiny);
  EXPECT_EQ(solo.fate(2).done.output, 4U);
  EXPECT_EQ(solo.fate(2).done.preemptions, 1U);
  EXPECT_EQ(solo.gap_count(), 7U + 3U);
  EXPECT_EQ(solo.replica().stats().scheduled_tokens, 15U + 8U + 9U + 2U);
  EXPECT_EQ(solo.replica().stats().output_tokens, 12U);
  EXPECT_EQ(solo.replica().free_blocks(), 5U);
}

// Five blocks, 8 tokens a step, prompts admitted without their full need. A (8 in, 8 out), B (12 in, 2 out).
//  0 A 8 | 10 A 1, B 7 | 20 A 1, B wants a third block, none: B gives way | 30 A 1, B 7 again | 40 B gives way again
//  50 A takes its fourth block, one is left: B cannot come in | 60, 70 A | 80 A is gone: B 8 | 90 B 4 -> token at 100 |
//  100 B 1 -> 110. Its prompt is computed from the start each time, and it answers two tokens, not more.
TEST(Preemption, APartlyPrefilledPromptStartsAgain) {
  replica::EngineConfig config = plain_config(5);
  config.max_num_batched_tokens = config.max_num_seqs = 8;
  config.reserve_full_prompt = false;
  Solo solo(config, linear_ms(10, 0));
  solo.write_down_steps();
  solo.at(0, 1, 8, 8);
  solo.at(0, 2, 12, 2);
  solo.run();
  const Given want[] = {{{1, 8}}, {{1, 1}, {2, 7}}, {{1, 1}}, {{1, 1}, {2, 7}}, {{1, 1}}, {{1, 1}},
                        {{1, 1}}, {{1, 1}},         {{2, 8}}, {{2, 4}},         {{2, 1}}};
  ASSERT_GE(solo.steps().size(), std::size(want));
  for (std::size_t i = 0; i < std::size(want); ++i) EXPECT_EQ(solo.steps()[i].given, want[i]) << i;
  EXPECT_NEAR(solo.fate(2).first_client_s, 100 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).done.client_s, 110 * kMs, kTiny);
  EXPECT_EQ(solo.fate(2).done.output, 2U);
  EXPECT_EQ(solo.fate(2).done.preemptions, 2U);
  EXPECT_EQ(solo.replica().stats().scheduled_tokens, 15U + 7U + 7U + 12U + 1U);
}

// Six blocks, three prompts of 8 fill them. When H (urgent) needs a third block the least urgent goes: of L and M with
// priority 1 the one that arrived later.
TEST(Preemption, ByPriorityTheLeastUrgentLatestArrivalGoes) {
  replica::EngineConfig config = plain_config(6);
  config.by_priority = true;
  Solo solo(config, linear_ms(10, 0));
  solo.write_down_steps();
  solo.at(0, 1, 8, 3).priority = 1;
  replica::ReplicaRequest& later = solo.at(0, 2, 8, 3);
  later.priority = 1;
  later.arrival_s = 0.5;
  solo.at(0, 3, 8, 3).arrival_s = 1;
  solo.run();
  EXPECT_EQ(solo.steps()[0].given, (Given{{3, 8}, {1, 8}, {2, 8}}));
  EXPECT_EQ(solo.steps()[1].preempted, (std::vector<replica::RequestTag>{2}));
  EXPECT_EQ(solo.steps()[1].given, (Given{{3, 1}, {1, 1}}));
  for (const replica::RequestTag tag : {1U, 2U, 3U}) EXPECT_EQ(solo.fate(tag).done.output, 3U);
}

// The same with equal priority and arrival: the earlier in the running list goes, although it is admitted first again.
TEST(Preemption, AmongEqualsTheFirstOfTheRunningListGoes) {
  replica::EngineConfig config = plain_config(6);
  config.by_priority = true;
  Solo solo(config, linear_ms(10, 0));
  solo.write_down_steps();
  solo.at(0, 1, 8, 3).priority = 1;
  solo.at(0, 2, 8, 3).priority = 1;
  solo.at(0, 3, 8, 3).priority = 0;
  solo.run();
  EXPECT_EQ(solo.steps()[0].given, (Given{{3, 8}, {1, 8}, {2, 8}}));
  EXPECT_EQ(solo.steps()[1].preempted, (std::vector<replica::RequestTag>{1}));
  EXPECT_EQ(solo.steps()[1].given, (Given{{3, 1}, {2, 1}}));
}

// A low-priority request alone fills four of five blocks (12 in, then out). H (8 in, prio 0) waits: nobody is preempted
// for an admission. L needs its fourth block at 10 and its fifth at 50; it ends at 60 with 6 tokens, H starts at 60.
TEST(Preemption, NobodyIsPreemptedForAnAdmission) {
  replica::EngineConfig config = plain_config(5);
  config.by_priority = true;
  Solo solo(config, linear_ms(10, 0));
  solo.at(0, 1, 12, 6).priority = 9;
  solo.at(5 * kMs, 2, 8, 1).priority = 0;
  solo.run();
  EXPECT_NEAR(solo.fate(1).done.client_s, 60 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).scheduled_s, 60 * kMs, kTiny);
  EXPECT_EQ(solo.replica().stats().preemptions, 0U);
}

// Five blocks. A (11 in, 6 out, not urgent) takes three; B (7 in, 4 out, urgent, from 5) comes in at 10 with two. At 20
// A wants a fourth block and is itself the least urgent: it gives way, and that ends the call before B was looked at.
// The next call follows at once: B 20..50, then A, whose 13 known tokens need four blocks: 50..60 and three more.
TEST(Preemption, ACallThatOnlyPreemptsIsFollowedByAnother) {
  replica::EngineConfig config = plain_config(5);
  config.by_priority = true;
  Solo solo(config, linear_ms(10, 0));
  solo.write_down_steps();
  solo.at(0, 1, 11, 6).priority = 1;
  solo.at(5 * kMs, 2, 7, 4).priority = 0;
  solo.run();
  EXPECT_EQ(solo.steps()[1].given, (Given{{1, 1}, {2, 7}}));
  EXPECT_EQ(solo.steps()[2].given, Given{});
  EXPECT_EQ(solo.steps()[2].preempted, (std::vector<replica::RequestTag>{1}));
  EXPECT_EQ(solo.steps()[3].given, (Given{{2, 1}}));
  EXPECT_NEAR(solo.steps()[3].decided_s, 20 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(2).done.client_s, 50 * kMs, kTiny);
  EXPECT_NEAR(solo.fate(1).done.client_s, 90 * kMs, kTiny);
}

replica::EngineConfig caching(std::uint32_t usable) {
  replica::EngineConfig config = plain_config(usable);
  config.enable_prefix_caching = true;
  return config;
}

// Two prompts of 10 share 8 tokens = 2 blocks. Steps 10 + n: the first takes 20, the second computes 2 tokens: 12.
TEST(PrefixCache, SharedBlocksAreNotComputedAgain) {
  const replica::ContentPath shared{{replica::chain_key(0, 0, 5, 0), 8, false}};
  Solo solo(caching(100), linear_ms(10, 1));
  solo.at(0, 1, 10, 1).content = shared;
  solo.at(1, 2, 10, 1).content = shared;
  solo.run();
  EXPECT_EQ(solo.fate(1).cached, 0U);
  EXPECT_NEAR(solo.fate(1).first_client_s, 20 * kMs, kTiny);
  EXPECT_EQ(solo.fate(2).cached, 8U);
  EXPECT_NEAR(solo.fate(2).first_client_s, 1 + 12 * kMs, kTiny);
  EXPECT_EQ(solo.replica().stats().prompt_tokens, 20U);
  EXPECT_EQ(solo.replica().stats().cached_tokens, 8U);
}

// The whole prompt of 8 is cached: one token must be computed, and blocks count whole, so 4 are computed again.
TEST(PrefixCache, AFullPromptHitComputesItsLastBlockAgain) {
  const replica::ContentPath all{{replica::chain_key(0, 0, 5, 0), 8, false}};
  Solo solo(caching(100), linear_ms(10, 1));
  solo.at(0, 1, 8, 1).content = all;
  solo.at(1, 2, 8, 1).content = all;
  solo.run();
  EXPECT_EQ(solo.fate(2).cached, 4U);
  EXPECT_NEAR(solo.fate(2).first_client_s, 1 + 14 * kMs, kTiny);
}

// A block is there for others from the moment it is scheduled: twins in one call compute 8 + 4, not 8 + 8.
TEST(PrefixCache, ATwinInTheSameCallHits) {
  const replica::ContentPath all{{replica::chain_key(0, 0, 5, 0), 8, false}};
  Solo solo(caching(100), linear_ms(10, 1));
  solo.at(0, 1, 8, 1).content = all;
  solo.at(0, 2, 8, 1).content = all;
  solo.run();
  EXPECT_EQ(solo.fate(2).cached, 4U);
  EXPECT_NEAR(solo.fate(1).first_client_s, 22 * kMs, kTiny);
}

// A turn of 6 in and 4 out computes 9 tokens: blocks 0..3 and 4..7 are cached. The next turn repeats the 10 and adds 3:
// 8 of 13 are cached. While the first turn lives nobody else can see its text.
TEST(PrefixCache, TheNextTurnHitsPromptAndAnswer) {
  const std::uint64_t text = replica::chain_key(0, 0, 1, 0), answer = replica::chain_key(text, 6, 2, 0);
  const replica::ContentPath first{{text, 6, true}, {answer, replica::ContentSegment::kOpenEnd, true}};
  const replica::ContentPath second{
      {text, 6, false}, {answer, 10, false}, {replica::chain_key(answer, 10, 3, 0), 13, true}};
  Solo solo(caching(100), linear_ms(10, 1));
  solo.at(0, 1, 6, 4).content = first;
  solo.at(1, 2, 13, 1).content = second;
  solo.run();
  EXPECT_EQ(solo.fate(2).cached, 8U);
  EXPECT_NEAR(solo.fate(2).first_client_s, 1 + 15 * kMs, kTiny);
}

// As TheLastGivesWayAndRecomputes, with caching: B's two full blocks stay in the free queue. A takes its fourth block
// at 50 and evicts the tail of B's chain; so at 80 B finds one block = 4 tokens and recomputes 5.
TEST(PrefixCache, AResumedRequestHitsWhatIsLeftOfItsOwnBlocks) {
  Solo solo(caching(5), linear_ms(10, 0));
  solo.write_down_steps();
  solo.at(0, 1, 8, 8);
  solo.at(0, 2, 8, 4);
  solo.run();
  EXPECT_EQ(solo.steps()[1].preempted, (std::vector<replica::RequestTag>{2}));
  EXPECT_EQ(solo.steps()[8].given, (Given{{2, 5}}));
  EXPECT_NEAR(solo.fate(2).done.client_s, 110 * kMs, kTiny);
}

}  // namespace
}  // namespace dooly::test
