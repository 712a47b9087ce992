#include "profiling_comm/comm_sampling.hpp"

#include "scripted_group.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

const Collective kReduce{CollectiveKind::kAllReduce, "bfloat16", 4};

TEST(CommSampling, SteadyTimesNeedTheLeastCount) {
  ScriptedGroup group([](const CommWork&) { return 20e-6; });
  double device_s = 0;
  const CommSampling limits;
  const auto sample = sample_collective(group, kReduce, 4096, LaunchMode::kBackToBack, limits, device_s);
  EXPECT_EQ(sample.point, (oracle::SamplePoint{4096, 4}));
  EXPECT_EQ(sample.count, limits.min_count);
  EXPECT_DOUBLE_EQ(sample.median_s, 20e-6);
  EXPECT_DOUBLE_EQ(sample.sm_clock_mhz, 1980);
  EXPECT_EQ(sample.note, "");
  EXPECT_EQ(group.work().launches, 50u);  // 1 ms
  EXPECT_NEAR(device_s, 3 * 20e-6 + (1 + 10) * 50 * 20e-6, 1e-9);
}

TEST(CommSampling, NoisyTimesEndAtTheCapAndSaySo) {
  int turn = 0;
  ScriptedGroup group([&turn](const CommWork&) { return turn++ % 2 == 0 ? 10e-6 : 30e-6; });
  double device_s = 0;
  CommSampling limits;
  limits.max_count = 23;
  const auto sample = sample_collective(group, kReduce, 4096, LaunchMode::kBackToBack, limits, device_s);
  EXPECT_EQ(sample.count, 23u);
  EXPECT_NE(sample.note.find("the mean is known to"), std::string::npos) << sample.note;
}

TEST(CommSampling, IsolatedLaunchesComeOneByOne) {
  ScriptedGroup group([](const CommWork& work) { return work.mode == LaunchMode::kIsolated ? 30e-6 : 1; });
  group.captures = false;
  double device_s = 0;
  const CommSampling limits;
  const auto sample = sample_collective(group, kReduce, 4096, LaunchMode::kIsolated, limits, device_s);
  EXPECT_EQ(group.work().launches, 1u);
  EXPECT_EQ(sample.count, limits.isolated_min_count);
  EXPECT_DOUBLE_EQ(sample.median_s, 30e-6);
  EXPECT_EQ(sample.note, "");
}

TEST(CommSampling, LaunchesThatCannotBeCapturedAreNoted) {
  ScriptedGroup group([](const CommWork&) { return 20e-6; });
  group.captures = false;
  double device_s = 0;
  const auto sample = sample_collective(group, kReduce, 4096, LaunchMode::kBackToBack, {}, device_s);
  EXPECT_NE(sample.note.find("launched by the host"), std::string::npos);
}

TEST(CommSampling, LongCollectivesAreTimedOneAtATime) {
  EXPECT_EQ(comm_launches_for(5e-3, {}), 1u);
  EXPECT_EQ(comm_launches_for(0.3e-3, {}), 4u);
  EXPECT_EQ(comm_launches_for(1e-9, {}), 64u);
}

TEST(CommSampling, KeysOfBothWaysDifferByAnAttribute) {
  const auto graph = key_of(kReduce, LaunchMode::kBackToBack);
  auto eager = key_of(kReduce, LaunchMode::kIsolated);
  EXPECT_EQ(canonical_json(graph),
            R"({"attributes":{},"dims":[4],"dtypes":["bfloat16"],"family":"nccl","kind":"all_reduce",)"
            R"("request_dims":["bytes"]})");
  EXPECT_EQ(std::get<bool>(eager.attributes.at("eager")), true);
  eager.attributes.clear();
  EXPECT_EQ(eager, graph);
}

}  // namespace
}  // namespace dooly::profiling
