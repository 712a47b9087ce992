#include "interrupts.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace dooly::cli {
namespace {

bool kills(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_DFL;
}

TEST(Interrupts, TheFirstSignalRaisesAFlagTheSecondOneKills) {
  const Interrupts interrupts;
  EXPECT_FALSE(interrupts.flag());
  EXPECT_FALSE(kills(SIGINT));
  EXPECT_FALSE(kills(SIGTERM));
  EXPECT_FALSE(kills(SIGHUP));
  raise(SIGINT);
  EXPECT_TRUE(interrupts.flag());
  EXPECT_TRUE(kills(SIGINT));
  EXPECT_TRUE(kills(SIGTERM));
}

TEST(Interrupts, AfterwardsSignalsKillAsEver) {
  { const Interrupts interrupts; }
  EXPECT_TRUE(kills(SIGINT));
  EXPECT_TRUE(kills(SIGTERM));
}

TEST(Interrupts, WhatIsIgnoredStaysIgnored) {
  signal(SIGHUP, SIG_IGN);
  { const Interrupts interrupts; }
  EXPECT_EQ(signal(SIGHUP, SIG_DFL), SIG_IGN);
}

}  // namespace
}  // namespace dooly::cli
