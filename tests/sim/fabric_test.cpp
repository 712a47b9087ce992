// Every test starts SimGrid, so each runs in a process of its own.
#include "sim/fabric.hpp"

#include "sim/kv_transfer.hpp"

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dooly::sim {
namespace {

constexpr double kNic = 0x1p35;     // 34.4 GB/s; powers of two keep hand-computed times exact
constexpr double kNvlink = 0x1p38;
constexpr std::uint64_t kSecondOfNic = std::uint64_t{1} << 35;  // bytes that one NIC moves in 1 s

struct ClusterOf {
  std::uint64_t nodes = 4;
  std::uint64_t gpus = 1;
  std::uint64_t nics = 1;
  std::uint64_t nodes_per_leaf = 0;  ///< 0: star
  double oversubscription = 1;
  double latency_s = 0;

  scenario::Cluster cluster() const {
    scenario::NodeGroup group;
    group.name = "h";
    group.count = nodes;
    group.gpus = gpus;
    group.nics = {.count = nics, .bytes_per_s = kNic};
    scenario::Cluster cluster{.fabric = {}, .nodes = {group}};
    cluster.fabric.link_latency_s = latency_s;
    if (nodes_per_leaf > 0) {
      cluster.fabric.topology = scenario::Fabric::Topology::kFatTree;
      cluster.fabric.nodes_per_leaf = nodes_per_leaf;
      cluster.fabric.oversubscription = oversubscription;
    }
    return cluster;
  }
  /// One replica per GPU, node by node.
  PortPlan plan() const {
    std::vector<FlowEnd> ends;
    for (std::uint64_t node = 0; node < nodes; ++node)
      for (std::uint64_t gpu = 0; gpu < gpus; ++gpu)
        ends.push_back({.place = {.first_node = node, .nodes = 1, .first_gpu = gpu, .gpus = 1}});
    return plan(ends);
  }
  PortPlan plan(const std::vector<FlowEnd>& ends) const { return {cluster(), std::vector<double>{kNvlink}, ends}; }
};

/// A fabric with flows to start, and when they ended.
class Bench : public PumpClient, public FlowListener, public EventSink {
 public:
  explicit Bench(PortPlan plan) : pump(64, *this), fabric(std::move(plan), pump) {
    pump.handle(EventKind::kHandOff, *this);
  }
  /// The flow is asked for by an event at `start_s`, as a simulation does.
  void flow(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, double start_s = 0) {
    at(start_s, [=, this, tag = flows_++] { fabric.start_flow(from, to, bytes, start_s, *this, tag); });
  }
  void at(double time_s, std::function<void()> action) {
    actions_.push_back(std::move(action));
    pump.post({time_s, EventKind::kHandOff, actions_.size() - 1, 0});
  }
  std::vector<double> run() {
    pump.run();
    std::vector<double> ends;
    for (const auto& [tag, end_s] : ends_) ends.push_back(end_s);
    return ends;
  }

  void on_arrival(double now_s) override { lines.push_back(fmt::format("{} arrival", now_s)); }
  double on_turn(std::uint32_t replica, double now_s) override {
    lines.push_back(fmt::format("{} turn {}", now_s, replica));
    return turn ? turn(replica, now_s) : kNever;
  }
  void flow_ended(std::uint64_t tag, double now_s) override {
    ends_[tag] = now_s;
    lines.push_back(fmt::format("{} flow {}", now_s, tag));
    if (ended) ended(tag, now_s);
  }
  void on_event(const Event& event) override { actions_[event.id](); }

  EventPump pump;
  Fabric fabric;
  std::vector<std::string> lines;
  std::function<double(std::uint32_t, double)> turn;
  std::function<void(std::uint64_t, double)> ended;

 private:
  std::vector<std::function<void()>> actions_;
  std::map<std::uint64_t, double> ends_;
  std::uint64_t flows_ = 0;
};

/// SimGrid's clock adds up increments: dates may be a few bits off.
void expect_times(const std::vector<double>& seen, const std::vector<double>& expected) {
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 2e-9) << "flow " << i;
}

TEST(Fabric, ALoneFlowTakesLatencyPlusBytesOverBandwidth) {
  Bench bench(ClusterOf{.latency_s = 0x1p-19}.plan());
  bench.flow(0, 1, kSecondOfNic / 4, 1);
  expect_times(bench.run(), {1 + 0x1p-19 + 0.25});
  EXPECT_EQ(bench.fabric.stats().flows, 1U);
  EXPECT_EQ(bench.fabric.stats().bytes, kSecondOfNic / 4);
  EXPECT_EQ(bench.fabric.stats().max_concurrent, 1U);
  EXPECT_NEAR(bench.fabric.stats().mean_bytes_per_s(), kNic * 0.25 / (0.25 + 0x1p-19), 1e3);
}

/// SimGrid ends a flow up to 1 ns early where it stands still so shortly before: it must not stand still for own
/// events.
TEST(Fabric, WhatHappensJustBeforeAFlowsEndDoesNotEndIt) {
  Bench bench(ClusterOf{}.plan());
  bench.flow(0, 1, kSecondOfNic);
  bench.pump.set_turn(0, 1 - 0x1p-31);  // 0.47 ns
  bench.at(1 - 0x1p-32, [] {});
  bench.pump.set_next_arrival(1 - 0x1p-33);
  EXPECT_EQ(bench.run(), std::vector<double>{1});
  ASSERT_EQ(bench.lines.size(), 3U);
  EXPECT_EQ(bench.lines.back(), "1 flow 0");
}

TEST(Fabric, TwoFlowsIntoOneNicHalveIt) {
  Bench bench(ClusterOf{}.plan());
  bench.flow(0, 2, kSecondOfNic);
  bench.flow(1, 2, 2 * kSecondOfNic);
  // Both get 1/2 until 2 s; the second has one NIC second left and gets all of it.
  expect_times(bench.run(), {2, 3});
  EXPECT_EQ(bench.fabric.stats().max_concurrent, 2U);
}

TEST(Fabric, OppositeDirectionsDoNotCompete) {
  Bench bench(ClusterOf{}.plan());
  bench.flow(0, 1, kSecondOfNic);
  bench.flow(1, 0, kSecondOfNic);
  expect_times(bench.run(), {1, 1});
}

TEST(Fabric, ALateFlowTakesItsShareFromThenOn) {
  Bench bench(ClusterOf{}.plan());
  bench.flow(0, 2, kSecondOfNic, 0);
  bench.flow(1, 2, kSecondOfNic, 0.5);
  // 0.5 s alone, then half each: the first has 1/2 left = 1 s, ends 1.5; the second has 1/2 left, alone, ends 2.
  expect_times(bench.run(), {1.5, 2});
}

TEST(Fabric, SharesAreMaxMinFairOverSeveralBottlenecks) {
  // NIC 0 sends to 2, 3 and 4, NIC 1 sends to 2. NIC 0: 1/3 each. NIC 2: 1/3 of it goes to flow 0, so flow 3 gets 2/3.
  Bench bench(ClusterOf{.nodes = 5}.plan());
  bench.flow(0, 2, kSecondOfNic);
  bench.flow(0, 3, kSecondOfNic);
  bench.flow(0, 4, kSecondOfNic);
  bench.flow(1, 2, kSecondOfNic);
  expect_times(bench.run(), {3, 3, 3, 1.5});
}

TEST(Fabric, ThreeFlowsShareAnOverSubscribedLeafsUpLink) {
  // Leaves of 4 nodes, 2:1: an up-link carries 2 NICs. Three flows leave: 2/3 each. One stays below the leaf: all of
  // it.
  Bench bench(ClusterOf{.nodes = 8, .nodes_per_leaf = 4, .oversubscription = 2}.plan());
  bench.flow(0, 4, kSecondOfNic);
  bench.flow(1, 5, kSecondOfNic);
  bench.flow(2, 6, kSecondOfNic);
  bench.flow(3, 2, kSecondOfNic);
  expect_times(bench.run(), {1.5, 1.5, 1.5, 1});
}

TEST(Fabric, TheUpLinkAndANicCanBothBind) {
  // As above, but flows 0 and 1 end in one NIC: 1/2 each, so flow 2 gets 1 of the up-link's 2.
  Bench bench(ClusterOf{.nodes = 8, .nodes_per_leaf = 4, .oversubscription = 2}.plan());
  bench.flow(0, 4, kSecondOfNic);
  bench.flow(1, 4, kSecondOfNic);
  bench.flow(2, 6, kSecondOfNic);
  expect_times(bench.run(), {2, 2, 1});
}

TEST(Fabric, NvLinkWithinANodeIsApartFromTheNics) {
  // Replica 0 sends to its neighbour (NVLink, 8 times a NIC) and to another node (NIC) at once: neither slows the
  // other.
  Bench bench(ClusterOf{.nodes = 2, .gpus = 2, .nics = 2, .latency_s = 0x1p-10}.plan());
  bench.flow(0, 1, kSecondOfNic);
  bench.flow(0, 2, kSecondOfNic);
  expect_times(bench.run(), {0.125, 1 + 0x1p-10});
}

TEST(Fabric, AReplicaOfSeveralGpusHasTheirNicsTogether) {
  // 4 GPUs and 4 NICs a node. TP 4 to TP 2: the receiver's 2 NICs decide; a second flow from TP 2 to TP 4 on the way
  // back.
  const ClusterOf shape{.nodes = 2, .gpus = 4, .nics = 4};
  const FlowEnd four{.place = {.first_node = 0, .nodes = 1, .first_gpu = 0, .gpus = 4}};
  const FlowEnd two{.place = {.first_node = 1, .nodes = 1, .first_gpu = 0, .gpus = 2}};
  const FlowEnd other{.place = {.first_node = 1, .nodes = 1, .first_gpu = 2, .gpus = 2}};
  Bench bench(shape.plan({four, two, other}));
  bench.flow(0, 1, 4 * kSecondOfNic);
  bench.flow(0, 2, 2 * kSecondOfNic);
  bench.flow(1, 0, 2 * kSecondOfNic);
  bench.flow(1, 2, 16 * kSecondOfNic);  // NVLink: 2 x 8 NICs
  expect_times(bench.run(), {2, 1, 1, 1});
}

TEST(Fabric, GpusBehindOneNicShareIt) {
  Bench bench(ClusterOf{.nodes = 2, .gpus = 2, .nics = 1}.plan());
  bench.flow(0, 2, kSecondOfNic);
  bench.flow(1, 3, kSecondOfNic);
  expect_times(bench.run(), {2, 2});
}

TEST(Fabric, SharesDoNotDependOnLatency) {
  // With latencies in SimGrid's links the nearer flow would get more.
  Bench bench(ClusterOf{.latency_s = 0x1p-6}.plan());
  bench.flow(0, 2, kSecondOfNic, 0);
  bench.flow(1, 2, kSecondOfNic, 0);
  expect_times(bench.run(), {2 + 0x1p-6, 2 + 0x1p-6});
}

TEST(Fabric, RoutesCrossTheLinksOfThePlanAndNoOther) {
  const Bench bench(ClusterOf{.nodes = 4, .gpus = 2, .nics = 2, .nodes_per_leaf = 2, .oversubscription = 2}.plan());
  using Names = std::vector<std::string>;
  EXPECT_EQ(bench.fabric.links_between(0, 1), (Names{"r0.nvlink_UP", "r1.nvlink_DOWN"}));
  EXPECT_EQ(bench.fabric.links_between(1, 2), (Names{"r1.nic_UP", "r2.nic_DOWN"}));
  EXPECT_EQ(bench.fabric.links_between(7, 1), (Names{"r7.nic_UP", "leaf1_UP", "leaf0_DOWN", "r1.nic_DOWN"}));
}

TEST(Fabric, NothingToMoveTakesTheLatency) {
  Bench bench(ClusterOf{.latency_s = 0.25}.plan());
  bench.flow(0, 1, 0, 1);
  expect_times(bench.run(), {1.25});
}

TEST(Fabric, TiesGoFlowEndsFlowStartsEventsArrivalTurns) {
  Bench bench(ClusterOf{}.plan());
  bench.flow(2, 3, kSecondOfNic);  // both end at exactly 1 s, reported in order of their start
  bench.flow(0, 1, kSecondOfNic);
  bench.pump.set_turn(1, 1);
  bench.pump.set_turn(0, 1);
  bench.pump.set_next_arrival(1);
  bench.at(1, [&] { bench.lines.emplace_back("event"); });
  bench.run();
  EXPECT_EQ(bench.lines,
            (std::vector<std::string>{"1 flow 0", "1 flow 1", "event", "1 arrival", "1 turn 0", "1 turn 1"}));
}

TEST(Fabric, OwnEventsNeverOvertakeTheEndOfAFlow) {
  Bench bench(ClusterOf{}.plan());
  bench.flow(0, 1, kSecondOfNic);
  bench.turn = [&](std::uint32_t replica, double now_s) {
    return replica == 0 && now_s < 2 ? now_s + 0x1p-10 : kNever;
  };
  bench.pump.set_turn(0, 0x1p-11);
  double last_turn_s = 0, next_turn_s = 0;
  bench.ended = [&](std::uint64_t, double) { last_turn_s = std::stod(bench.lines[bench.lines.size() - 2]); };
  bench.run();
  next_turn_s = last_turn_s + 0x1p-10;
  EXPECT_LT(last_turn_s, 1);
  EXPECT_GT(next_turn_s, 1);
  EXPECT_LT(bench.pump.entries(), 10U);  // 2,048 turns, none of which enters SimGrid
}

/// Random flows and turns; every handler's line.
std::vector<std::string> random_run(bool look_ahead) {
  Bench bench(
      ClusterOf{.nodes = 16, .gpus = 2, .nics = 2, .nodes_per_leaf = 4, .oversubscription = 2, .latency_s = 0x1p-16}
          .plan());
  bench.pump.set_look_ahead(look_ahead);
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    const auto from = static_cast<std::uint32_t>(random() % 32);
    const auto to = static_cast<std::uint32_t>((from + 1 + random() % 31) % 32);
    bench.flow(from, to, kSecondOfNic / 1024 * (1 + random() % 64), static_cast<double>(random() % 1024) * 0x1p-10);
  }
  bench.turn = [](std::uint32_t replica, double now_s) {
    return now_s < 2 ? now_s + static_cast<double>(1 + replica % 7) * 0x1p-10 : kNever;
  };
  for (std::uint32_t replica = 0; replica < 32; ++replica) bench.pump.set_turn(replica, 0x1p-10);
  bench.run();
  return bench.lines;
}

// One engine a process: the two halves are compared through a child that prints its lines' digest.
std::uint64_t digest(const std::vector<std::string>& lines) {
  std::uint64_t hash = 1469598103934665603U;
  for (const std::string& line : lines)
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

TEST(Fabric, LookAheadChangesNoDateAndNoOrder) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::uint64_t hash = digest(random_run(false));
    _exit(write(ends[1], &hash, sizeof hash) == sizeof hash ? 0 : 1);
  }
  const std::vector<std::string> lines = random_run(true);
  std::uint64_t without = 0;
  ASSERT_EQ(read(ends[0], &without, sizeof without), static_cast<ssize_t>(sizeof without));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_GT(lines.size(), 10000U);
  EXPECT_EQ(digest(lines), without);
}

TEST(Fabric, FlowsMayFollowEachOtherFromTheirEnds) {
  Bench bench(ClusterOf{}.plan());
  int left = 99;
  bench.ended = [&](std::uint64_t tag, double now_s) {
    if (left-- > 0) bench.fabric.start_flow(0, 1, kSecondOfNic / 64, now_s, bench, tag + 1);
  };
  bench.flow(0, 1, kSecondOfNic / 64);
  EXPECT_NEAR(bench.run().back(), 100.0 / 64, 1e-9);
  EXPECT_EQ(bench.fabric.stats().flows, 100U);
  EXPECT_EQ(bench.fabric.stats().in_flight, 0U);
  EXPECT_EQ(bench.fabric.stats().max_concurrent, 1U);  // one has ended when the next starts
}

TEST(Fabric, StoppingWithFlowsUnderWayEndsTheRun) {
  Bench bench(ClusterOf{}.plan());
  bench.flow(0, 1, kSecondOfNic);
  bench.at(0.5, [&] { bench.pump.stop(); });
  EXPECT_TRUE(bench.run().empty());
  EXPECT_EQ(bench.pump.now_s(), 0.5);
  EXPECT_EQ(bench.fabric.stats().in_flight, 1U);
}

TEST(Fabric, WhatAHandlerThrowsLeavesTheRun) {
  Bench bench(ClusterOf{}.plan());
  bench.flow(0, 1, kSecondOfNic);
  bench.ended = [](std::uint64_t, double) { throw std::runtime_error("broken"); };
  EXPECT_THROW(bench.run(), std::runtime_error);
}

TEST(Fabric, ASecondOneInAProcessIsRefused) {
  Bench bench(ClusterOf{}.plan());
  EXPECT_THROW(Fabric(ClusterOf{}.plan(), bench.pump), std::logic_error);
}

TEST(Fabric, LeavesSignalsToTheProgram) {
  const auto mine = [](int) {};
  std::signal(SIGINT, mine);
  Bench bench(ClusterOf{}.plan());
  bench.flow(0, 1, 1000);
  bench.run();
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), static_cast<void (*)(int)>(mine));
}

TEST(Fabric, ManyReplicasTakeTheirTurnsInOrderBetweenFlows) {
  Bench bench(ClusterOf{.nodes = 64}.plan());
  for (std::uint32_t replica = 64; replica-- > 0;) bench.pump.set_turn(replica, 0.5);
  for (std::uint32_t replica = 0; replica < 32; ++replica) bench.flow(replica, 32 + replica, kSecondOfNic);
  bench.run();
  ASSERT_EQ(bench.lines.size(), 96U);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(bench.lines[i], fmt::format("0.5 turn {}", i));
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(bench.lines[64 + i], fmt::format("1 flow {}", i));
}

class TransferLog : public KvTransferClient {
 public:
  void load_finished(std::uint32_t decode_replica, replica::RequestTag, double) override {
    loaded.push_back(decode_replica);
  }
  void release_held(std::uint32_t prefill_replica, replica::RequestTag, double) override {
    released.push_back(prefill_replica);
  }
  void transferred(replica::RequestTag, const KvTransferTimes& kv_times, double) override { times.push_back(kv_times); }
  std::vector<std::uint32_t> loaded, released;
  std::vector<KvTransferTimes> times;
};

TEST(Fabric, KvTransfersContendForTheDecodeSidesNic) {
  Bench bench(ClusterOf{.latency_s = 0x1p-10}.plan());
  TransferLog log;
  KvTransfers transfers(bench.fabric, log);
  const std::uint64_t token = kSecondOfNic / 1024;
  transfers.offer(1, 0, 0);
  transfers.offer(2, 1, 0);
  bench.at(0.25, [&] {
    transfers.load_started(1, 3, 512 * token, 0.25);
    transfers.load_started(2, 3, 512 * token, 0.25);
  });
  bench.run();
  ASSERT_EQ(log.times.size(), 2U);
  for (const KvTransferTimes& times : log.times) {
    EXPECT_EQ(times.wait_s, 0.25);
    EXPECT_NEAR(times.transfer_s, 1 + 0x1p-10, 1e-9);  // 0.5 s each alone
    EXPECT_EQ(times.bytes, kSecondOfNic / 2);
  }
  EXPECT_EQ(log.loaded, (std::vector<std::uint32_t>{3, 3}));
  EXPECT_EQ(log.released, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(transfers.size(), 0U);
}

}  // namespace
}  // namespace dooly::sim
