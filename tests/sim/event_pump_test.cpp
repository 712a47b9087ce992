#include "sim/event_pump.hpp"

#include "sim/plain_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dooly::sim {
namespace {

/// Writes down what is handled, in order.
class Log : public PumpClient, public EventSink {
 public:
  void on_arrival(double now_s) override { lines.push_back(fmt::format("{} arrival", now_s)); }
  double on_turn(std::uint32_t replica, double now_s) override {
    lines.push_back(fmt::format("{} turn {}", now_s, replica));
    return kNever;
  }
  void on_event(const Event& event) override {
    lines.push_back(
        fmt::format("{} event {} {} {}", event.time_s, static_cast<int>(event.kind), event.id, event.value));
  }
  std::vector<std::string> lines;
};

struct PumpFixture : testing::Test {
  Log log;
  EventPump pump{4, log};
  PlainClock clock{pump};
  PumpFixture() {
    pump.handle(EventKind::kHandOff, log);
    pump.handle(EventKind::kSignal, log);
  }
};

TEST_F(PumpFixture, AtEqualTimesEventsComeByKindAndIdThenTheArrivalThenTurnsByReplica) {
  pump.set_turn(2, 1);
  pump.set_turn(0, 1);
  pump.post({1, EventKind::kSignal, 1, 0});
  pump.post({1, EventKind::kHandOff, 7, 0});
  pump.post({1, EventKind::kHandOff, 3, 5});
  pump.post({1, EventKind::kHandOff, 3, 4});
  pump.post({0.5, EventKind::kSignal, 9, 0});
  pump.set_next_arrival(1);
  pump.run();
  EXPECT_EQ(log.lines, (std::vector<std::string>{"0.5 event 4 9 0", "1 event 2 3 5", "1 event 2 3 4", "1 event 2 7 0",
                                                 "1 event 4 1 0", "1 arrival", "1 turn 0", "1 turn 2"}));
  EXPECT_EQ(pump.handled(), 8U);
  EXPECT_EQ(pump.now_s(), 1);
  EXPECT_EQ(clock.now_s(), 1);
}

TEST_F(PumpFixture, ARunWithoutFlowsEntersTheNetworksEngineTwice) {
  for (int i = 0; i < 1000; ++i) pump.post({i * 0.25, EventKind::kSignal, 0, 0});
  pump.run();
  EXPECT_EQ(pump.handled(), 1000U);
  EXPECT_EQ(pump.entries(), 2U);
}

TEST_F(PumpFixture, WithoutLookAheadTheClockFollowsEveryEvent) {
  pump.set_look_ahead(false);
  for (int i = 0; i < 100; ++i) pump.post({i * 0.25, EventKind::kSignal, 0, 0});
  pump.run();
  EXPECT_EQ(pump.entries(), 100U);
}

TEST_F(PumpFixture, ATurnThatIsSetAgainMoves) {
  pump.set_turn(0, 1);
  pump.set_turn(1, 2);
  pump.set_turn(0, 3);
  pump.set_turn(1, 0.5);
  pump.set_turn(3, 4);
  pump.set_turn(3, kNever);
  pump.run();
  EXPECT_EQ(log.lines, (std::vector<std::string>{"0.5 turn 1", "3 turn 0"}));
}

TEST_F(PumpFixture, EventsInThePastAreRefused) {
  pump.post({2, EventKind::kSignal, 0, 0});
  pump.run();
  EXPECT_THROW(pump.post({1, EventKind::kSignal, 0, 0}), std::logic_error);
  EXPECT_THROW(pump.set_turn(0, 1.5), std::logic_error);
  EXPECT_THROW(pump.set_next_arrival(0), std::logic_error);
  EXPECT_THROW(pump.set_next_arrival(std::numeric_limits<double>::quiet_NaN()), std::logic_error);
}

TEST_F(PumpFixture, AnEventThatNobodyHandlesIsABug) {
  pump.post({1, EventKind::kAnswer, 0, 0});
  EXPECT_THROW(pump.run(), std::logic_error);
}

struct Thrower : Log {
  void on_arrival(double) override { throw std::runtime_error("broken policy"); }
};

TEST(EventPump, WhatAHandlerThrowsLeavesTheRun) {
  Thrower thrower;
  EventPump pump(1, thrower);
  PlainClock clock(pump);
  pump.set_next_arrival(1);
  pump.set_turn(0, 2);
  EXPECT_THROW(pump.run(), std::runtime_error);
  EXPECT_TRUE(thrower.lines.empty());
}

struct Stopper : Log {
  EventPump* pump = nullptr;
  double on_turn(std::uint32_t replica, double now_s) override {
    Log::on_turn(replica, now_s);
    if (lines.size() == 3) pump->stop();
    return now_s + 1;
  }
};

TEST(EventPump, StopsAfterTheCurrentEvent) {
  Stopper stopper;
  EventPump pump(1, stopper);
  PlainClock clock(pump);
  stopper.pump = &pump;
  pump.set_turn(0, 1);
  pump.run();
  EXPECT_EQ(stopper.lines.size(), 3U);
  EXPECT_EQ(pump.now_s(), 3);
}

TEST(EventQueue, HandsOutInOrderOfTimeKindIdAndPosting) {
  using Key = std::tuple<double, int, std::uint64_t, std::uint64_t>;
  std::mt19937_64 random(1);
  EventQueue queue;
  std::vector<Key> expected, seen;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Event event{static_cast<double>(random() % 8), static_cast<EventKind>(random() % kEventKinds), random() % 4,
                      i};
    queue.push(event);
    expected.emplace_back(event.time_s, static_cast<int>(event.kind), event.id, i);
  }
  std::sort(expected.begin(), expected.end());
  while (!queue.empty()) {
    EXPECT_EQ(queue.first_time_s(), std::get<0>(expected[seen.size()]));
    EXPECT_EQ(static_cast<int>(queue.first_kind()), std::get<1>(expected[seen.size()]));
    const Event event = queue.pop();
    seen.emplace_back(event.time_s, static_cast<int>(event.kind), event.id, event.value);
  }
  EXPECT_EQ(seen, expected);
  EXPECT_THROW(queue.push({0, EventKind::kSignal, std::uint64_t{1} << 56, 0}), std::logic_error);
}

/// The first of all turns, found the slow way.
std::uint32_t first_of(const std::vector<double>& times) {
  return static_cast<std::uint32_t>(std::min_element(times.begin(), times.end()) - times.begin());
}

class TurnQueueOf : public testing::TestWithParam<std::uint32_t> {};

TEST_P(TurnQueueOf, AgreesWithALinearSearch) {
  const std::uint32_t replicas = GetParam();
  std::mt19937_64 random(replicas);
  TurnQueue queue(replicas);
  std::vector<double> times(replicas, kNever);
  EXPECT_EQ(queue.first_time_s(), kNever);
  for (int step = 0; step < 5000; ++step) {
    const std::uint32_t replica =
        step % 3 == 0 ? queue.first_replica() : static_cast<std::uint32_t>(random() % replicas);
    times[replica] = random() % 16 == 0 ? kNever : static_cast<double>(random() % 64);  // many ties
    queue.set(replica, times[replica]);
    ASSERT_EQ(queue.first_time_s(), times[first_of(times)]);
    ASSERT_EQ(queue.first_replica(), first_of(times));
    ASSERT_EQ(queue.time_s(replica), times[replica]);
  }
}
INSTANTIATE_TEST_SUITE_P(Replicas, TurnQueueOf, testing::Values(1, 2, 3, 4, 5, 6, 17, 100, 1280));

TEST(TurnQueue, WithoutReplicasNothingIsDue) { EXPECT_EQ(TurnQueue(0).first_time_s(), kNever); }

}  // namespace
}  // namespace dooly::sim
