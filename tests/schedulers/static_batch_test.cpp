#include "static_batch.hpp"

#include "dooly/sdk/testing/fake_engine.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dooly::schedulers {
namespace {

using sdk::RequestId;
using sdk::testing::FakeEngine;

StaticBatch make(int batch_size) { return StaticBatch(sdk::Options({{"batch_size", std::to_string(batch_size)}})); }

FakeEngine::Settings settings(std::uint32_t budget, std::uint32_t blocks) {
  return {.limits = {.max_num_batched_tokens = budget, .max_num_seqs = 64, .max_model_len = 4096, .block_size = 16},
          .blocks = blocks};
}

TEST(StaticBatch, NobodyJoinsBeforeTheLastOfTheBatchHasFinished) {
  FakeEngine engine(settings(1000, 1000));
  for (int i = 0; i < 3; ++i) engine.add({.prompt = 10, .output = i == 0 ? 2U : 5U});
  StaticBatch policy = make(2);
  engine.step(policy);
  EXPECT_EQ(engine.running().size(), 2U);
  engine.step(policy);  // request 0 has its 2 tokens
  EXPECT_EQ(engine.running(), (std::vector<RequestId>{RequestId{1}}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(engine.waiting(), (std::vector<RequestId>{RequestId{2}}));
    engine.step(policy);
  }
  EXPECT_TRUE(engine.running().empty());  // step 5: request 1 has its 5 tokens
  engine.step(policy);
  EXPECT_EQ(engine.running(), (std::vector<RequestId>{RequestId{2}}));
}

TEST(StaticBatch, WhoComesAfterTheBatchWasClosedWaitsThoughPlacesAreFree) {
  FakeEngine engine(settings(1000, 1000));
  engine.add({.prompt = 10, .output = 5});
  StaticBatch policy = make(8);
  engine.step(policy);
  engine.add({.prompt = 10, .output = 5});
  engine.step(policy);
  EXPECT_EQ(engine.waiting().size(), 1U);
  EXPECT_EQ(policy.horizon(engine), sdk::SchedulerPolicy::kAlways);
}

TEST(StaticBatch, PromptsBeyondTheBudgetFillTheBatchChunkByChunk) {
  FakeEngine engine(settings(100, 1000));
  for (int i = 0; i < 3; ++i) engine.add({.prompt = 150, .output = 3});
  StaticBatch policy = make(2);
  // 100 of request 0 | 50 of 0 and 50 of 1 | 1 of 0 and 99 of 1 | ...
  auto step = engine.step(policy);
  EXPECT_EQ(step.scheduled, (std::vector<std::pair<RequestId, std::uint32_t>>{{RequestId{0}, 100}}));
  step = engine.step(policy);
  EXPECT_EQ(step.scheduled, (std::vector<std::pair<RequestId, std::uint32_t>>{{RequestId{0}, 50}, {RequestId{1}, 50}}));
  step = engine.step(policy);
  EXPECT_EQ(step.scheduled, (std::vector<std::pair<RequestId, std::uint32_t>>{{RequestId{0}, 1}, {RequestId{1}, 99}}));
  EXPECT_EQ(engine.waiting(), (std::vector<RequestId>{RequestId{2}}));  // not in this batch
  engine.run(policy, 100);
  EXPECT_TRUE(engine.is_idle());
}

TEST(StaticBatch, APreemptedMemberComesBackAtTheHeadOfTheNextBatch) {
  FakeEngine engine(settings(1000, 4));  // 64 tokens
  engine.add({.prompt = 30, .output = 20});  // 2 blocks, a third from token 33 on
  engine.add({.prompt = 30, .output = 20});
  engine.add({.prompt = 10, .output = 1});
  StaticBatch policy = make(2);
  std::vector<RequestId> preempted;
  while (!engine.has_finished(RequestId{0})) {
    EXPECT_NE(engine.waiting(), (std::vector<RequestId>{}));
    for (const RequestId id : engine.step(policy).preempted) preempted.push_back(id);
  }
  EXPECT_EQ(preempted, (std::vector<RequestId>{RequestId{1}}));
  EXPECT_EQ(engine.waiting(), (std::vector<RequestId>{RequestId{1}, RequestId{2}}));
  engine.step(policy);  // the last one's only token
  EXPECT_EQ(engine.running(), (std::vector<RequestId>{RequestId{1}}));
  EXPECT_TRUE(engine.has_finished(RequestId{2}));
  engine.run(policy, 100);
  EXPECT_TRUE(engine.is_idle());
}

TEST(StaticBatch, WholePromptsOnlyWithoutChunking) {
  auto whole = settings(100, 1000);
  whole.limits.enable_chunked_prefill = false;
  FakeEngine engine(whole);
  engine.add({.prompt = 60, .output = 2});
  engine.add({.prompt = 60, .output = 2});
  StaticBatch policy = make(2);
  EXPECT_EQ(engine.step(policy).tokens, 60U);
  EXPECT_EQ(engine.step(policy).tokens, 61U);  // one decode and the second prompt
}

}  // namespace
}  // namespace dooly::schedulers
