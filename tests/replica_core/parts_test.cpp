// The small parts of a replica by themselves: queues, keys, the set of steady decodes, the histogram of gaps.
#include "random_scenario.hpp"

#include "replica_core/block_keys.hpp"
#include "replica_core/decode_set.hpp"
#include "replica_core/gap_histogram.hpp"
#include "replica_core/running_list.hpp"
#include "replica_core/waiting_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <vector>

namespace dooly::test {
namespace {

using replica::BlockKeys;
using replica::chain_key;
using replica::ContentPath;
using replica::ContentSegment;
using replica::DecodeSet;
using replica::GapHistogram;
using replica::KvRequest;
using replica::RunningList;
using replica::WaitingQueue;

// --- GapHistogram

TEST(GapHistogram, QuantilesAreWithinATenthOfAPercent) {
  Draw draw(3);
  GapHistogram histogram;
  std::vector<double> all;
  for (int i = 0; i < 40000; ++i) {
    const double gap_s = std::exp(draw.fraction() * 25 - 18);  // 15 ns to 1,000 s
    const std::uint64_t weight = draw.between(1, 4);
    histogram.add(gap_s, weight);
    all.insert(all.end(), weight, gap_s);
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(histogram.count(), all.size());
  for (const double q : {0.0, 0.001, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0}) {
    const double exact = all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))];
    EXPECT_NEAR(histogram.quantile(q), exact, 0.001 * exact) << q;
  }
  EXPECT_EQ(histogram.quantile(0), all.front());
  EXPECT_EQ(histogram.min(), all.front());
  EXPECT_EQ(histogram.max(), all.back());
}

TEST(GapHistogram, WeightsAreRepetitions) {
  GapHistogram histogram;
  histogram.add(0.010, 3);
  histogram.add(0.030, 1);
  histogram.add(0.5, 0);  // nothing
  EXPECT_EQ(histogram.count(), 4U);
  EXPECT_DOUBLE_EQ(histogram.mean(), 0.015);                    // (3 x 10 + 30) / 4
  EXPECT_NEAR(histogram.stddev(), std::sqrt(75e-6), 1e-12);     // (3 x 25 + 225) / 4 = 75
  EXPECT_NEAR(histogram.quantile(0.5), 0.010, 0.00001);
  EXPECT_EQ(histogram.max(), 0.030);
}

TEST(GapHistogram, ZeroGapsCount) {
  GapHistogram histogram;
  histogram.add(0, 2);
  histogram.add(1, 1);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_NEAR(histogram.quantile(1), 1, 0.001);
  EXPECT_EQ(histogram.min(), 0);
}

TEST(GapHistogram, MergingIsAddingEverything) {
  Draw draw(4);
  GapHistogram left, right, both;
  for (int i = 0; i < 2000; ++i) {
    const double gap_s = draw.chance(5) ? 0 : draw.fraction() * (i % 2 == 0 ? 0.01 : 3);
    (i % 2 == 0 ? left : right).add(gap_s, 1);
    both.add(gap_s, 1);
  }
  left.merge(right);
  left.merge(GapHistogram());
  EXPECT_EQ(left.count(), both.count());
  EXPECT_EQ(left.min(), both.min());
  EXPECT_EQ(left.max(), both.max());
  EXPECT_NEAR(left.mean(), both.mean(), 1e-12);
  for (const double q : {0.0, 0.02, 0.3, 0.7, 1.0}) EXPECT_EQ(left.quantile(q), both.quantile(q)) << q;
  GapHistogram empty;
  empty.merge(both);
  EXPECT_EQ(empty.min(), both.min());
  EXPECT_EQ(GapHistogram().quantile(0.5), 0);
}

// --- DecodeSet, against counting one by one

TEST(DecodeSet, AgreesWithCountingOneByOne) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Draw draw(seed);
    const std::uint32_t block = draw.one_of({1U, 3U, 16U});
    DecodeSet set(block);
    struct Member {
      std::uint32_t computed, last;
    };
    std::map<std::uint32_t, Member> members;
    for (int round = 0; round < 300; ++round) {
      const std::uint32_t slot = draw.below(40);
      if (members.contains(slot)) {
        if (draw.chance(20)) {
          set.remove(slot);
          members.erase(slot);
        }
      } else if (draw.chance(60)) {
        const std::uint32_t computed = draw.between(1, 500);
        const std::uint32_t last = computed + (draw.chance(20) ? draw.between(900, 5000) : draw.between(1, 60));
        set.insert(slot, computed, last);
        members[slot] = {computed, last};
      }
      std::uint64_t context = 0, squares = 0, to_end = ~0ULL;
      std::uint64_t cubes = 0;
      std::uint32_t longest = 0;
      for (const auto& [s, m] : members) {
        EXPECT_EQ(set.computed(s), m.computed);
        EXPECT_EQ(set.needs_block(s), m.computed % block == 0);
        context += m.computed;
        squares += std::uint64_t{m.computed} * m.computed;
        cubes += std::uint64_t{m.computed} * m.computed * m.computed;
        longest = std::max(longest, m.computed);
        to_end = std::min<std::uint64_t>(to_end, m.last - m.computed - 1);
      }
      ASSERT_EQ(set.count(), members.size());
      ASSERT_EQ(set.context(), context);
      ASSERT_EQ(set.context_squares(), squares);
      ASSERT_EQ(set.context_cubes(), cubes);
      ASSERT_EQ(set.longest(), longest);
      for (const std::uint64_t ahead : {0U, 1U, 7U, 40U}) {
        const auto needing = std::count_if(members.begin(), members.end(), [&](const auto& entry) {
          return (entry.second.computed + ahead) % block == 0;
        });
        ASSERT_EQ(set.blocks_needed(ahead), needing);
      }
      ASSERT_LE(set.steps_to_end(), to_end);
      if (to_end < 64 && members.size() < 2) {
        ASSERT_EQ(set.steps_to_end(), to_end);
      }
      if (draw.chance(30) && set.steps_to_end() > 0) {
        const std::uint64_t steps = draw.between(1, static_cast<std::uint32_t>(set.steps_to_end()));
        set.advance(steps);
        for (auto& [s, m] : members) m.computed += static_cast<std::uint32_t>(steps);
      } else {
        std::vector<std::uint32_t> ended, want;
        set.advance_and_collect(ended);
        for (auto& [s, m] : members)
          if (++m.computed == m.last) want.push_back(s);
        for (const std::uint32_t s : want) members.erase(s);
        std::sort(ended.begin(), ended.end());
        ASSERT_EQ(ended, want);
      }
    }
  }
}

// --- BlockKeys

std::vector<std::uint64_t> keys(const ContentPath& content, std::uint64_t unique, std::uint32_t block,
                                std::uint32_t count) {
  BlockKeys keys(KvRequest{.unique_key = unique, .content = content});
  std::vector<std::uint64_t> all;
  for (std::uint32_t i = 1; i <= count; ++i) all.push_back(keys.at(i * block));
  return all;
}

TEST(BlockKeys, AgreeAsFarAsTheContentDoes) {
  const std::uint64_t root = chain_key(0, 0, 1, 0), left = chain_key(root, 10, 2, 0), right = chain_key(root, 10, 3, 0);
  const auto a = keys({{root, 10, false}, {left, 20, false}}, 71, 4, 7);
  const auto b = keys({{root, 10, false}, {right, 20, false}}, 72, 4, 7);
  const auto c = keys({{root, 10, false}, {left, 16, false}}, 73, 4, 7);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(a[i], b[i]);  // blocks that end at 4 and 8
  for (int i = 2; i < 7; ++i) EXPECT_NE(a[i], b[i]);  // 12 lies beyond the fork at 10
  for (int i = 0; i < 4; ++i) EXPECT_EQ(a[i], c[i]);  // up to 16
  for (int i = 4; i < 7; ++i) EXPECT_NE(a[i], c[i]);
  std::vector<std::uint64_t> distinct = a;
  std::sort(distinct.begin(), distinct.end());
  EXPECT_EQ(std::unique(distinct.begin(), distinct.end()) - distinct.begin(), 7);
}

TEST(BlockKeys, AnswerInAnyOrder) {
  const ContentPath content{{chain_key(0, 0, 1, 0), 6, false}, {chain_key(1, 6, 2, 0), 17, false}};
  const auto ascending = keys(content, 9, 3, 9);
  BlockKeys keys(KvRequest{.unique_key = 9, .content = content});
  for (const std::uint32_t i : {9U, 1U, 5U, 2U, 8U, 3U}) EXPECT_EQ(keys.at(i * 3), ascending[i - 1]) << i;
}

// --- queues

std::vector<std::uint32_t> listed(const WaitingQueue& queue) {
  std::vector<std::uint32_t> slots;
  queue.for_each([&](std::uint32_t slot) {
    slots.push_back(slot);
    return true;
  });
  return slots;
}

TEST(WaitingQueue, FirstComeFirstServedWithBothEnds) {
  WaitingQueue queue(false);
  const WaitingQueue::Rank any{0, 0, 0};
  EXPECT_EQ(queue.head_or_none(), WaitingQueue::kNone);
  for (const std::uint32_t slot : {5U, 2U, 9U}) queue.push_back(slot, any);
  queue.push_front(7, any);
  EXPECT_EQ(listed(queue), (std::vector<std::uint32_t>{7, 5, 2, 9}));
  EXPECT_EQ(queue.next(5, any), 2U);
  EXPECT_EQ(queue.next(9, any), WaitingQueue::kNone);
  queue.remove(2, any);
  queue.remove(7, any);
  queue.remove(9, any);
  EXPECT_EQ(listed(queue), (std::vector<std::uint32_t>{5}));
  queue.push_back(2, any);
  EXPECT_EQ(listed(queue), (std::vector<std::uint32_t>{5, 2}));
  EXPECT_EQ(queue.size(), 2U);
}

TEST(WaitingQueue, ByPriorityThenArrivalThenSequence) {
  WaitingQueue queue(true);
  queue.push_back(1, {1, 0.0, 1});
  queue.push_back(2, {0, 5.0, 2});
  queue.push_front(3, {0, 5.0, 0});  // an end means nothing here
  queue.push_back(4, {0, 1.0, 9});
  EXPECT_EQ(listed(queue), (std::vector<std::uint32_t>{4, 3, 2, 1}));
  EXPECT_EQ(queue.head(), 4U);
  EXPECT_EQ(queue.next(3, {0, 5.0, 0}), 2U);
  queue.remove(3, {0, 5.0, 0});
  EXPECT_EQ(listed(queue), (std::vector<std::uint32_t>{4, 2, 1}));
}

TEST(RunningList, KeepsItsOrderThroughHoles) {
  RunningList list;
  std::deque<std::uint32_t> want;
  Draw draw(8);
  std::vector<bool> in(200, false);
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t slot = draw.below(200);
    if (in[slot]) {
      list.remove(slot);
      std::erase(want, slot);
    } else {
      list.append(slot);
      want.push_back(slot);
    }
    in[slot] = !in[slot];
    ASSERT_EQ(list.size(), want.size());
    ASSERT_EQ(list.last(), want.empty() ? RunningList::kHole : want.back());
    std::size_t at = list.next(0);
    for (const std::uint32_t expected : want) {
      ASSERT_EQ(list.at(at), expected);
      ASSERT_EQ(list.position(expected), at);
      at = list.next(at + 1);
    }
    ASSERT_EQ(at, list.end());
  }
}

}  // namespace
}  // namespace dooly::test
