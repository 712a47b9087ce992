// What every KV cache does, written down by hand; blocks of 4 tokens.
#include "step_by_step_cache.hpp"

#include "replica_core/kv_cache.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace dooly::test {
namespace {

using replica::chain_key;
using replica::ContentPath;
using replica::ContentSegment;
using replica::EngineConfig;
using replica::KvCache;
using replica::KvRequest;
using Release = replica::KvCache::Release;

EngineConfig config(std::uint32_t usable) {
  EngineConfig config;
  config.num_blocks = usable + 1;
  config.groups[0].block_size = config.scheduler_block_size = 4;
  return config;
}

class EveryCache : public testing::TestWithParam<std::unique_ptr<KvCache> (*)(const EngineConfig&)> {
 protected:
  void make(std::uint32_t usable) { cache_ = GetParam()(config(usable)); }

  /// A request of `known` tokens with the text `path`.
  KvRequest request(std::uint32_t slot, std::uint32_t known, const ContentPath& path) const {
    return {.slot = slot, .prompt = known, .known = known, .unique_key = 100 + slot, .content = path};
  }
  std::uint32_t admit(const KvRequest& r) {
    const std::uint32_t hit = cache_->find(r);
    EXPECT_TRUE(
        cache_->allocate(r, {.new_tokens = r.known - hit, .hit = hit, .admission = true, .reserve_full = true}));
    return hit;
  }

  std::unique_ptr<KvCache> cache_;
  const ContentPath shared_{{chain_key(0, 0, 1, 0), 8, false}};
  const ContentPath own_{{chain_key(0, 0, 2, 0), ContentSegment::kOpenEnd, true}};
  const ContentPath next_turn_{{chain_key(0, 0, 2, 0), 100, false}};
};

TEST_P(EveryCache, GivesWholeBlocksButNeverTheLastToken) {
  make(10);
  cache_->open(0), cache_->open(1);
  EXPECT_EQ(admit(request(0, 9, shared_)), 0U);
  EXPECT_EQ(cache_->free_blocks(), 7U);
  EXPECT_EQ(cache_->peek(request(1, 9, shared_)), 8U);
  EXPECT_EQ(cache_->peek(request(1, 8, shared_)), 4U);
  EXPECT_EQ(cache_->peek(request(1, 4, shared_)), 0U);
  EXPECT_EQ(admit(request(1, 9, shared_)), 8U);
  EXPECT_EQ(cache_->free_blocks(), 6U);  // two shared, one own each
  EXPECT_EQ(cache_->common_prefix(0, 0), 2U);
  cache_->check_balance();
}

// Blocks A and B of the text; C1, C2, C3 are each request's last. Two holders of A and B: 2 blocks, read once more
// each.
TEST_P(EveryCache, CountsBlocksThatSeveralRequestsHold) {
  using replica::SharedKv;
  make(10);
  for (const std::uint32_t slot : {0U, 1U, 2U}) cache_->open(slot);
  admit(request(0, 9, shared_));
  EXPECT_EQ(cache_->shared(), SharedKv());
  admit(request(1, 9, shared_));
  EXPECT_EQ(cache_->shared(), (SharedKv{.blocks = 2, .repeats = 2}));
  EXPECT_EQ(cache_->holders(), 2U);
  admit(request(2, 8, shared_));  // A alone: the last token is computed again, in a block of its own
  EXPECT_EQ(cache_->shared(), (SharedKv{.blocks = 2, .repeats = 3}));
  cache_->release(request(0, 9, shared_), Release::kFinished);
  EXPECT_EQ(cache_->shared(), (SharedKv{.blocks = 1, .repeats = 1}));
  const std::uint64_t later = cache_->detach(request(2, 8, shared_), Release::kFinished);
  EXPECT_EQ(cache_->shared(), (SharedKv{.blocks = 1, .repeats = 1}));  // held until it is read
  cache_->free_detached(later);
  EXPECT_EQ(cache_->shared(), SharedKv());
  cache_->release(request(1, 9, shared_), Release::kPreempted);
  EXPECT_EQ(cache_->shared(), SharedKv());
}

// A group of full attention and one with a window of 4 tokens, which has lost the prefix but for its last block: what
// is shared is counted of the first. Text of 8 tokens, so two blocks.
TEST(HybridCache, CountsWhatFullAttentionShares) {
  EngineConfig hybrid = config(20);
  hybrid.groups.push_back(hybrid.groups[0]);
  hybrid.groups[1].kind = replica::KvGroup::Kind::kSlidingWindow;
  hybrid.groups[1].window = 4;
  const auto cache = replica::make_block_kv_cache(hybrid);
  const ContentPath text{{chain_key(0, 0, 1, 0), 8, false}};
  for (const std::uint32_t slot : {0U, 1U}) {
    cache->open(slot);
    const KvRequest r{.slot = slot, .prompt = 9, .known = 9, .unique_key = 100 + slot, .content = text};
    const std::uint32_t hit = cache->find(r);
    EXPECT_EQ(hit, slot == 0 ? 0U : 8U);
    ASSERT_TRUE(cache->allocate(r, {.new_tokens = 9 - hit, .hit = hit, .admission = true, .reserve_full = true}));
  }
  EXPECT_EQ(cache->shared(), (replica::SharedKv{.blocks = 2, .repeats = 2}));
}

// Three blocks are free and one of them is what the request would hit: 8 + 8 tokens want two new blocks beside the hit
// ones, of which one is free: 3 in all. With one block less it does not fit.
TEST_P(EveryCache, CountsFreeHitBlocksAsNeeded) {
  for (const std::uint32_t usable : {4U, 3U}) {
    make(usable);
    cache_->open(0), cache_->open(1);
    admit(request(0, 8, shared_));
    cache_->release(request(0, 8, shared_), Release::kFinished);
    EXPECT_EQ(cache_->free_blocks(), usable);
    const KvRequest r = request(1, 16, shared_);
    EXPECT_EQ(cache_->find(r), 8U);
    EXPECT_EQ(cache_->allocate(r, {.new_tokens = 8, .hit = 8, .admission = true, .reserve_full = true}), usable == 4);
    cache_->check_balance();
  }
}

// Freed chains lose their tail first, the chain freed first before the other.
TEST_P(EveryCache, EvictsTheTailOfTheOldestChain) {
  make(4);
  const ContentPath other{{chain_key(0, 0, 3, 0), 8, false}};
  for (const std::uint32_t slot : {0U, 1U, 2U}) cache_->open(slot);
  admit(request(0, 8, shared_));
  admit(request(1, 8, other));
  cache_->release(request(0, 8, shared_), Release::kFinished);
  cache_->release(request(1, 8, other), Release::kFinished);
  EXPECT_EQ(cache_->distinct_keys(), 4U);
  admit(request(2, 4, {}));
  EXPECT_EQ(cache_->evicted, 1U);
  EXPECT_EQ(cache_->peek(request(3, 9, shared_)), 4U);
  EXPECT_EQ(cache_->peek(request(3, 9, other)), 8U);
}

TEST_P(EveryCache, APreemptedRequestFindsItsOwnBlocks) {
  make(10);
  cache_->open(0);
  admit(request(0, 9, own_));
  cache_->release(request(0, 9, own_), Release::kPreempted);
  EXPECT_EQ(cache_->free_blocks(), 10U);
  EXPECT_EQ(admit(request(0, 9, own_)), 8U);
  EXPECT_EQ(cache_->distinct_keys(), 2U);
}

// With 8 tokens known, the second block must be computed again: its first copy stays in the free queue and is the one
// that later look-ups find. Three blocks are all there are: both copies and the block before.
TEST_P(EveryCache, ASecondCopyDoesNotHideTheFirst) {
  make(3);
  cache_->open(0);
  admit(request(0, 8, own_));
  cache_->release(request(0, 8, own_), Release::kPreempted);
  EXPECT_EQ(admit(request(0, 8, own_)), 4U);
  EXPECT_EQ(cache_->distinct_keys(), 2U);
  EXPECT_EQ(cache_->free_blocks(), 1U);
  cache_->release(request(0, 8, own_), Release::kPreempted);
  EXPECT_EQ(admit(request(0, 9, own_)), 8U);  // the third block is the second copy
  EXPECT_EQ(cache_->evicted, 1U);
  EXPECT_EQ(cache_->distinct_keys(), 2U);
  cache_->check_balance();
}

TEST_P(EveryCache, TheNextTurnFindsWhatAFinishedRequestStillHolds) {
  make(10);
  cache_->open(0);
  admit(request(0, 9, own_));
  cache_->publish(request(0, 9, own_));
  EXPECT_EQ(cache_->peek(request(1, 20, next_turn_)), 8U);
  cache_->release(request(0, 9, own_), Release::kFinished);
  EXPECT_EQ(cache_->peek(request(1, 20, next_turn_)), 8U);
  cache_->check_balance();
}

// Its last token was in flight when it was preempted, and arrived while it waited.
TEST_P(EveryCache, TheNextTurnFindsWhatARequestLeftThatFinishedWaiting) {
  make(10);
  cache_->open(0);
  admit(request(0, 9, own_));
  cache_->release(request(0, 9, own_), Release::kPreempted);
  cache_->release(request(0, 10, own_), Release::kFinished);
  EXPECT_EQ(cache_->peek(request(1, 20, next_turn_)), 8U);
  EXPECT_EQ(cache_->distinct_keys(), 2U);
  cache_->check_balance();
}

TEST_P(EveryCache, DetachedBlocksCanBeHitBeforeTheyAreFree) {
  make(10);
  cache_->open(0);
  admit(request(0, 9, own_));
  const std::uint64_t later = cache_->detach(request(0, 9, own_), Release::kPreempted);
  EXPECT_EQ(cache_->free_blocks(), 7U);
  EXPECT_FALSE(cache_->holds_table(0));
  EXPECT_EQ(admit(request(0, 9, own_)), 8U);
  EXPECT_EQ(cache_->free_blocks(), 6U);
  cache_->free_detached(later);
  EXPECT_EQ(cache_->free_blocks(), 7U);
  cache_->release(request(0, 9, own_), Release::kFinished);
  EXPECT_EQ(cache_->free_blocks(), 10U);
  cache_->check_balance();
}

// A prompt of one token that came from elsewhere is computed here all the same, in the block that it has.
TEST_P(EveryCache, AOneTokenPromptKeepsItsLoadedBlock) {
  make(10);
  cache_->open(0);
  KvRequest r = request(0, 1, {});
  EXPECT_EQ(cache_->find(r), 0U);
  EXPECT_TRUE(cache_->allocate(r, {.external = 1, .admission = true, .delay_caching = true}));
  EXPECT_EQ(cache_->find(r), 0U);
  EXPECT_TRUE(cache_->allocate(r, {.new_tokens = 1, .admission = true}));
  EXPECT_EQ(cache_->free_blocks(), 9U);
  cache_->release(r, Release::kFinished);
  EXPECT_EQ(cache_->free_blocks(), 10U);
  cache_->check_balance();
}

TEST_P(EveryCache, ForgetsKeysOnlyWhenNothingIsHeld) {
  make(10);
  cache_->open(0);
  admit(request(0, 9, shared_));
  EXPECT_FALSE(cache_->reset());
  cache_->release(request(0, 9, shared_), Release::kFinished);
  EXPECT_TRUE(cache_->reset());
  EXPECT_EQ(cache_->distinct_keys(), 0U);
  EXPECT_EQ(cache_->peek(request(1, 9, shared_)), 0U);
}

std::unique_ptr<KvCache> step_by_step(const EngineConfig& config) {
  return std::make_unique<StepByStepCache>(replica::make_run_kv_cache(config));
}

std::string name_of(const testing::TestParamInfo<std::unique_ptr<KvCache> (*)(const EngineConfig&)>& cache) {
  constexpr const char* kNames[] = {"Run", "Block", "StepByStep"};
  return kNames[cache.index];
}

INSTANTIATE_TEST_SUITE_P(Caches, EveryCache,
                         testing::Values(&replica::make_run_kv_cache, &replica::make_block_kv_cache, &step_by_step),
                         name_of);

}  // namespace
}  // namespace dooly::test
