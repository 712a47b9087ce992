#include "sim/kv_transfer.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dooly::sim {
namespace {

/// Keeps flows until the test ends them.
class FakeNetwork : public Network {
 public:
  struct Flow {
    std::uint32_t from, to;
    std::uint64_t bytes;
    double start_s;
    FlowListener* listener;
    std::uint64_t tag;
  };
  void start_flow(std::uint32_t from_replica, std::uint32_t to_replica, std::uint64_t bytes, double start_s,
                  FlowListener& listener, std::uint64_t tag) override {
    flows.push_back({from_replica, to_replica, bytes, start_s, &listener, tag});
  }
  void end(std::size_t flow, double now_s) { flows[flow].listener->flow_ended(flows[flow].tag, now_s); }
  std::vector<Flow> flows;
};

class Log : public KvTransferClient {
 public:
  void load_finished(std::uint32_t decode_replica, replica::RequestTag request, double now_s) override {
    lines.push_back(fmt::format("{} loaded {} on {}", now_s, request, decode_replica));
  }
  void release_held(std::uint32_t prefill_replica, replica::RequestTag request, double now_s) override {
    lines.push_back(fmt::format("{} released {} on {}", now_s, request, prefill_replica));
  }
  void transferred(replica::RequestTag request, const KvTransferTimes& times, double now_s) override {
    lines.push_back(fmt::format("{} over {}: wait {} transfer {} bytes {}", now_s, request, times.wait_s,
                                times.transfer_s, times.bytes));
  }
  std::vector<std::string> lines;
};

struct KvTransfersTest : testing::Test {
  FakeNetwork network;
  Log log;
  KvTransfers transfers{network, log};
};

TEST_F(KvTransfersTest, NothingMovesBeforeTheDecodeSideHasReserved) {
  transfers.offer(7, 1, 10);
  EXPECT_TRUE(network.flows.empty());
  EXPECT_TRUE(transfers.is_offered(7));
  transfers.load_started(7, 5, 131072000, 10.5);
  EXPECT_FALSE(transfers.is_offered(7));
  ASSERT_EQ(network.flows.size(), 1U);
  EXPECT_EQ(network.flows[0].from, 1U);
  EXPECT_EQ(network.flows[0].to, 5U);
  EXPECT_EQ(network.flows[0].bytes, 131072000U);
  EXPECT_EQ(network.flows[0].start_s, 10.5);
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(KvTransfersTest, AtTheEndBothSidesAndTheClientLearnIt) {
  transfers.offer(7, 1, 10);
  transfers.load_started(7, 5, 10000, 10.5);
  network.end(0, 12);
  EXPECT_EQ(log.lines, (std::vector<std::string>{"12 loaded 7 on 5", "12 released 7 on 1",
                                                 "12 over 7: wait 0.5 transfer 1.5 bytes 10000"}));
  EXPECT_EQ(transfers.size(), 0U);
}

TEST_F(KvTransfersTest, ACompleteLocalHitReleasesThePrefillSideAtOnce) {
  transfers.offer(7, 1, 10);
  transfers.not_needed(7, 11);
  EXPECT_TRUE(network.flows.empty());
  EXPECT_EQ(log.lines, (std::vector<std::string>{"11 released 7 on 1", "11 over 7: wait 1 transfer 0 bytes 0"}));
}

TEST_F(KvTransfersTest, OpenOnesAreListedByRequestWithTheirStage) {
  transfers.offer(9, 2, 11);
  transfers.offer(7, 1, 10);
  transfers.load_started(7, 5, 10000, 10.5);
  const auto open = transfers.open();
  ASSERT_EQ(open.size(), 2U);
  EXPECT_EQ(open[0].request, 7U);
  EXPECT_EQ(open[0].stage, KvTransfers::Stage::kMoving);
  EXPECT_EQ(open[0].since_s, 10.5);
  EXPECT_EQ(open[1].request, 9U);
  EXPECT_EQ(open[1].stage, KvTransfers::Stage::kOffered);
  EXPECT_EQ(open[1].since_s, 11);
}

TEST_F(KvTransfersTest, ANumberMayBeUsedAgainAfterItsTransfer) {
  for (int round = 0; round < 3; ++round) {
    transfers.offer(7, 1, round);
    transfers.load_started(7, 5, 10000, round);
    network.end(static_cast<std::size_t>(round), round + 0.5);
  }
  EXPECT_EQ(log.lines.size(), 9U);
}

TEST_F(KvTransfersTest, MisuseIsNamed) {
  EXPECT_THROW(transfers.load_started(7, 5, 10000, 0), std::logic_error);
  EXPECT_THROW(transfers.not_needed(7, 0), std::logic_error);
  transfers.offer(7, 1, 0);
  EXPECT_THROW(transfers.offer(7, 1, 0), std::logic_error);
  transfers.load_started(7, 5, 10000, 0);
  EXPECT_THROW(transfers.load_started(7, 5, 10000, 0), std::logic_error);
}

}  // namespace
}  // namespace dooly::sim
