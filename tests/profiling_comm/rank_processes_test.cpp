#include "profiling_comm/rank_processes.hpp"

#include "comm_libraries.hpp"
#include "fake_setting.hpp"
#include "profiling_comm/comm_sampling.hpp"
#include "profiling_sweep/sweep_error.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>

namespace dooly::profiling {
namespace {

using oracle::SampleStatus;

CommWork reduce(std::uint64_t bytes, LaunchMode mode = LaunchMode::kBackToBack, std::uint32_t launches = 4) {
  return {{CollectiveKind::kAllReduce, "bfloat16", 3}, bytes, mode, launches};
}

/// As the stand-in's law says, of rank 2, the slowest of three.
constexpr double seconds(double bytes) { return 12e-6 + bytes / 100e9; }

std::string failure_of(RankProcesses& group, const CommWork& work, SampleStatus status) {
  try {
    DeviceReading reading;
    group.prepare(work);
    group.run(1, reading);
  } catch (const RankFailure& failure) {
    EXPECT_EQ(failure.status(), status);
    return failure.what();
  }
  return "no failure";
}

bool all_gone(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes)
    if (::kill(process, 0) == 0 || errno != ESRCH) return false;
  return true;
}

TEST(RankProcesses, TheSlowestRankIsTheTime) {
  RankProcesses group(3, {});
  DeviceReading reading;
  EXPECT_TRUE(group.prepare(reduce(100000)));
  const std::vector<double> times = group.run(3, reading);
  ASSERT_EQ(times.size(), 3u);
  for (const double time : times) EXPECT_NEAR(time, seconds(100000), 1e-9);
  EXPECT_EQ(reading.sm_clock_mhz, 1980);
}

TEST(RankProcesses, IsolatedLaunchesAreNotCaptured) {
  RankProcesses group(3, {});
  DeviceReading reading;
  EXPECT_FALSE(group.prepare(reduce(4096, LaunchMode::kIsolated, 1)));
  EXPECT_NEAR(group.run(1, reading).front(), seconds(4096), 1e-9);
}

TEST(RankProcesses, EveryCollectiveRuns) {
  RankProcesses group(3, {});
  for (const CollectiveKind kind : kCollectiveKinds) {
    const Collective collective{kind, "float32", 3};
    double device_s = 0;
    const auto sample = sample_collective(group, collective, 48 * 1024, LaunchMode::kBackToBack, {}, device_s);
    const double moved = kind == CollectiveKind::kAllGather ? 3 * 48 * 1024 : 48 * 1024;
    EXPECT_NEAR(sample.median_s, seconds(moved), 1e-9) << name_of(kind);
  }
}

TEST(RankProcesses, WithoutCaptureTheHostLaunches) {
  const FakeSetting no_capture("FAKE_NO_CAPTURE", "1");
  RankProcesses group(3, {});
  DeviceReading reading;
  EXPECT_FALSE(group.prepare(reduce(4096)));
  EXPECT_NEAR(group.run(1, reading).front(), seconds(4096), 1e-9);
}

TEST(RankProcesses, MulticastIsForbiddenWhateverTheUserSet) {
  const FakeSetting asked("NCCL_NVLS_ENABLE", "1");
  EXPECT_NO_THROW(RankProcesses(2, {}));  // the stand-in refuses to join otherwise
  EXPECT_STREQ(std::getenv("NCCL_NVLS_ENABLE"), "0");  // for whatever else is started
}

TEST(RankProcesses, LoadingNcclForbidsMulticast) {
  const FakeSetting asked("NCCL_NVLS_ENABLE", "1");
  const CommNccl nccl;
  EXPECT_STREQ(std::getenv("NCCL_NVLS_ENABLE"), "0");
  EXPECT_EQ(nccl.version(), "2.28.9");
}

TEST(RankProcesses, ACrashEndsAllAndSaysWho) {
  const FakeSetting crash("FAKE_CRASH", "4096:1");
  RankProcesses group(3, {});
  const std::vector<pid_t> processes = group.processes();
  EXPECT_EQ(failure_of(group, reduce(4096), SampleStatus::kLaunchFailed), "rank 1: was killed by signal 6 (Aborted)");
  EXPECT_TRUE(all_gone(processes));
  EXPECT_NE(failure_of(group, reduce(8192), SampleStatus::kLaunchFailed), "no failure");
}

TEST(RankProcesses, AHangIsNoticedAndEndsAll) {
  const FakeSetting hang("FAKE_HANG", "4096:2");
  RankSettings settings;
  settings.answer_s = 0.3;
  RankProcesses group(3, settings);
  const std::vector<pid_t> processes = group.processes();
  EXPECT_EQ(failure_of(group, reduce(4096), SampleStatus::kLaunchFailed), "rank 2: no answer in 0.3 s");
  EXPECT_TRUE(all_gone(processes));
}

TEST(RankProcesses, AFailedCallIsToldInNcclsWords) {
  const FakeSetting error("FAKE_ERROR", "4096:0");
  RankProcesses group(3, {});
  EXPECT_EQ(failure_of(group, reduce(4096), SampleStatus::kLaunchFailed),
            "rank 0: ncclAllReduce: fake NCCL error (1): the reason");
}

TEST(RankProcesses, NoMemoryIsAResult) {
  const FakeSetting memory("FAKE_MEMORY", "1000000");
  RankProcesses group(3, {});
  EXPECT_EQ(failure_of(group, reduce(4096), SampleStatus::kOk), "no failure");
  EXPECT_NE(failure_of(group, reduce(1 << 20), SampleStatus::kOutOfMemory).find("out of memory"), std::string::npos);
}

TEST(RankProcesses, RanksThatCannotJoinAreAnError) {
  const FakeSetting error("FAKE_ERROR", "0:1");
  try {
    RankProcesses(2, {});
    FAIL() << "joined";
  } catch (const SweepError& failure) {
    EXPECT_STREQ(failure.what(),
                 "2 GPUs cannot work together: rank 1: ncclCommInitRank: fake NCCL error (2): the reason");
  }
}

TEST(RankProcesses, AMissingLibraryIsNamed) {
  const FakeSetting wrong("DOOLY_NCCL", "/nowhere/libnccl.so.2");
  try {
    RankProcesses(2, {});
    FAIL() << "joined";
  } catch (const SweepError& failure) {
    EXPECT_NE(std::string(failure.what()).find("$DOOLY_NCCL: cannot load '/nowhere/libnccl.so.2'"), std::string::npos)
        << failure.what();
  }
}

TEST(RankProcesses, GivingUpEndsAll) {
  const FakeSetting hang("FAKE_HANG", "4096:0");
  bool gives_up = false;
  RankSettings settings;
  settings.gives_up = [&gives_up] { return gives_up; };
  RankProcesses group(2, settings);
  const std::vector<pid_t> processes = group.processes();
  gives_up = true;
  EXPECT_THROW(group.prepare(reduce(4096)), CommInterrupted);
  EXPECT_TRUE(all_gone(processes));
}

}  // namespace
}  // namespace dooly::profiling
