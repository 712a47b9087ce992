// What the oracle is told of KV blocks that requests of a batch share.
#include "solo.hpp"

#include <gtest/gtest.h>

namespace dooly::test {
namespace {

using replica::ContentPath;

/// Blocks of 4 tokens, found again by content.
replica::EngineConfig caching_config() {
  replica::EngineConfig config = plain_config(100);
  config.enable_prefix_caching = true;
  return config;
}

/// Requests of 12 tokens, of which the first 8, two blocks, are the same; the first one comes ahead of the others.
void add_sharers(Solo& solo, const ContentPath& content, std::uint32_t count) {
  for (std::uint32_t tag = 0; tag < count; ++tag) solo.at(tag == 0 ? 0 : 0.1, tag, 12, 40).content = content;
}

const ContentPath kContent = {{replica::chain_key(0, 0, 9, 0), 8, false}};

TEST(SharedBatch, ABlockOfTwoIsReadOnceMore) {
  Solo solo(caching_config(), linear_ms(10, 1));
  solo.write_down_steps();
  add_sharers(solo, kContent, 2);
  solo.run();
  EXPECT_EQ(solo.fate(1).cached, 8U);
  EXPECT_EQ(solo.steps().front().shared_tokens, 0U);
  std::uint32_t both = 0;
  for (const Solo::Step& step : solo.steps()) {
    if (step.given.size() != 2) continue;
    ++both;
    EXPECT_EQ(step.shared_tokens, 8U);
    EXPECT_EQ(step.repeated_tokens, 8U);
  }
  EXPECT_GT(both, 10U);
}

// The third holds the blocks but waits for the rest of its prompt to be transferred, here for ever.
TEST(SharedBatch, WhoIsNotInTheBatchReadsNothing) {
  replica::EngineConfig config = caching_config();
  config.has_connector = true;
  Solo solo(config, linear_ms(10, 1));
  solo.write_down_steps();
  add_sharers(solo, kContent, 2);
  replica::ReplicaRequest& loading = solo.at(0.2, 2, 12, 40);
  loading.content = kContent;
  loading.remote.load = replica::RemoteKv::Load::kPromptOnce;
  solo.run();
  ASSERT_EQ(solo.replica().engine().stuck().size(), 1U);
  std::uint32_t of_three = 0;
  for (const Solo::Step& step : solo.steps()) {
    if (step.decided_s < 0.25 || step.given.size() != 2) continue;
    ++of_three;
    EXPECT_EQ(step.shared_tokens, 8U);
    EXPECT_EQ(step.repeated_tokens, 8U);
  }
  EXPECT_GT(of_three, 10U);
}

TEST(SharedBatch, OthersTextIsNotShared) {
  Solo solo(caching_config(), linear_ms(10, 1));
  solo.write_down_steps();
  const ContentPath none;
  add_sharers(solo, none, 2);
  solo.run();
  for (const Solo::Step& step : solo.steps()) EXPECT_EQ(step.shared_tokens + step.repeated_tokens, 0U);
}

}  // namespace
}  // namespace dooly::test
