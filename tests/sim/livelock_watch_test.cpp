#include "sim/livelock_watch.hpp"

#include <gtest/gtest.h>

namespace dooly::sim {
namespace {

TEST(LivelockWatch, IsPatientWhileRequestsEndOrTokensComeAndThenSaysSo) {
  LivelockWatch watch(16);  // patience of 65 rounds
  std::uint64_t tokens = 0;
  for (std::uint64_t round = 0; round < 1000; ++round)  // somebody ends now and then
    EXPECT_FALSE(watch.is_stuck(round / 50, [&] { return tokens; }));
  for (int round = 0; round < 1000; ++round) {  // nobody ends, but tokens come
    ++tokens;
    EXPECT_FALSE(watch.is_stuck(20, [&] { return tokens; }));
  }
  int rounds = 0;
  while (!watch.is_stuck(20, [&] { return tokens; })) ASSERT_LT(++rounds, 200);  // nothing any more
  EXPECT_GE(rounds, 64);
}

}  // namespace
}  // namespace dooly::sim
