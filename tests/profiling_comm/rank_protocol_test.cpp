#include "rank_protocol.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

TEST(RankProtocol, WorkComesOverAsItWas) {
  const CommWork work{{CollectiveKind::kAllToAll, "float32", 8}, 1u << 20, LaunchMode::kIsolated, 3};
  const std::string question = prepare_question(work);
  ASSERT_TRUE(question.starts_with("prepare "));
  const CommWork read = parse_prepare(question.substr(8), 8);
  EXPECT_EQ(read.collective.kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(read.collective.dtype, "float32");
  EXPECT_EQ(read.collective.ranks, 8u);
  EXPECT_EQ(read.bytes, 1u << 20);
  EXPECT_EQ(read.mode, LaunchMode::kIsolated);
  EXPECT_EQ(read.launches, 3u);
  EXPECT_THROW(parse_prepare("all_reduze bfloat16 1 isolated 1", 2), std::runtime_error);
}

TEST(RankProtocol, TimesComeOverExactly) {
  const RankTimes read = parse_times(times_answer({{1980, 512.5, 41}, {1.0 / 3, 12.3456789e-6}}));
  EXPECT_EQ(read.reading.sm_clock_mhz, 1980);
  EXPECT_EQ(read.reading.power_w, 512.5);
  EXPECT_EQ(read.seconds, (std::vector<double>{1.0 / 3, 12.3456789e-6}));
  EXPECT_THROW(parse_times("captured"), std::runtime_error);
}

TEST(RankProtocol, TheSlowestRankCountsInEachRepetition) {
  EXPECT_EQ(slowest({{{}, {1, 5, 3}}, {{}, {4, 2, 3}}}), (std::vector<double>{4, 5, 3}));
  EXPECT_THROW(slowest({{{}, {1, 5}}, {{}, {4}}}), std::runtime_error);
}

TEST(RankProtocol, IdentifiersMayHoldAnyByte) {
  const std::string bytes("\0\x7f\xff a", 5);
  EXPECT_EQ(hex_of(bytes), "007fff2061");
  EXPECT_EQ(bytes_of_hex(hex_of(bytes)), bytes);
}

TEST(RankProtocol, BuffersHoldWhatEachCollectiveReceives) {
  const auto sizes = [](CollectiveKind kind) {
    const BufferBytes bytes = buffers_of({kind, "bfloat16", 4}, 1024);
    return std::pair{bytes.send, bytes.receive};
  };
  EXPECT_EQ(sizes(CollectiveKind::kAllReduce), (std::pair<std::uint64_t, std::uint64_t>{1024, 1024}));
  EXPECT_EQ(sizes(CollectiveKind::kAllGather), (std::pair<std::uint64_t, std::uint64_t>{1024, 4096}));
  EXPECT_EQ(sizes(CollectiveKind::kReduceScatter), (std::pair<std::uint64_t, std::uint64_t>{1024, 256}));
  EXPECT_EQ(sizes(CollectiveKind::kAllToAll), (std::pair<std::uint64_t, std::uint64_t>{1024, 1024}));
}

}  // namespace
}  // namespace dooly::profiling
