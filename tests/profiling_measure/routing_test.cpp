#include "profiling_measure/routing.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace dooly::profiling {
namespace {

std::uint64_t in_use(const std::vector<std::uint64_t>& loads) {
  return static_cast<std::uint64_t>(std::count_if(loads.begin(), loads.end(), [](auto n) { return n > 0; }));
}

TEST(ExpertLoads, BalancedIsEven) {
  const auto loads = expert_loads({.tokens = 64, .experts = 16, .top_k = 2, .activated = 0, .law = 0});
  EXPECT_EQ(loads, std::vector<std::uint64_t>(16, 8));
}

TEST(ExpertLoads, EachActivatedExpertGetsATokenAndNoOther) {
  for (const std::uint64_t law : {0, 1, 2}) {
    const auto loads = expert_loads({.tokens = 32, .experts = 128, .top_k = 8, .activated = 60, .law = law});
    EXPECT_EQ(in_use(loads), 60U);
    EXPECT_EQ(std::accumulate(loads.begin(), loads.end(), std::uint64_t{0}), 256U);
    EXPECT_LE(*std::max_element(loads.begin(), loads.end()), 32U);
  }
}

TEST(ExpertLoads, TheLawSaysHowSkewed) {
  const Routing routing{.tokens = 4096, .experts = 64, .top_k = 4, .activated = 0, .law = 1};
  const auto mild = expert_loads(routing);
  EXPECT_GT(mild.front(), 3 * 4096 * 4 / 64U);
  EXPECT_TRUE(std::is_sorted(mild.rbegin(), mild.rend()));
}

TEST(ExpertLoads, ImpossibleRoutingsAreRefused) {
  EXPECT_THROW(expert_loads({.tokens = 1, .experts = 8, .top_k = 2, .activated = 9, .law = 0}), ProfilingError);
  EXPECT_THROW(expert_loads({.tokens = 1, .experts = 8, .top_k = 2, .activated = 3, .law = 0}), ProfilingError);
  EXPECT_THROW(expert_loads({.tokens = 1, .experts = 8, .top_k = 2, .activated = 0, .law = 3}), ProfilingError);
}

TEST(ExpertIds, ATokensExpertsAreDistinctAndTheLoadsAreKept) {
  const Routing routing{.tokens = 100, .experts = 32, .top_k = 6, .activated = 20, .law = 2};
  const auto ids = expert_ids(routing);
  std::vector<std::uint64_t> counted(32, 0);
  for (std::size_t token = 0; token < 100; ++token) {
    const std::set<std::int32_t> own(ids.begin() + static_cast<std::ptrdiff_t>(token * 6),
                                     ids.begin() + static_cast<std::ptrdiff_t>(token * 6 + 6));
    EXPECT_EQ(own.size(), 6U);
    for (const auto id : own) {
      ++counted.at(static_cast<std::size_t>(id));
    }
  }
  std::sort(counted.rbegin(), counted.rend());
  auto loads = expert_loads(routing);
  std::sort(loads.rbegin(), loads.rend());
  EXPECT_EQ(counted, loads);
}

}  // namespace
}  // namespace dooly::profiling
