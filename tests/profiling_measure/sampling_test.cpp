#include "profiling_measure/sampling.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dooly::profiling {
namespace {

/// A device on which a run takes what the test says. Its clock is at the top after a rest and lower while hot.
class FakeTimer final : public Timer {
 public:
  struct Work final : TimedWork {
    Work(FakeTimer& owner, std::uint32_t count) : timer(&owner), launches(count) {}
    double run(DeviceReading& reading) override { return timer->timed(launches, reading); }
    bool is_captured() const override { return timer->captured; }
    FakeTimer* timer;
    std::uint32_t launches;
  };

  std::unique_ptr<TimedWork> prepare(const Run& run, std::uint32_t launches, std::size_t copies) override {
    for (std::uint32_t i = 0; i < launches; ++i) {
      run(i % copies);
    }
    prepared.push_back(launches);
    return std::make_unique<Work>(*this, launches);
  }
  double now() override { return clock_s; }
  void pause(double seconds) override {
    clock_s += seconds;
    rested_s += seconds;
    hot = false;
  }
  void heat(double seconds) override {
    clock_s += seconds;
    heated_s += seconds;
    hot = true;
  }
  double top_clock_mhz() const override { return 2000; }
  std::uint64_t cache_bytes() const override { return 1 << 20; }
  oracle::Environment environment() override { return {}; }
  std::vector<std::string> kernels_of(const Run& /*run*/) override { return {}; }
  void recover() override {}

  double timed(std::uint32_t launches, DeviceReading& reading) {
    const double single = singles_s.at(runs++ % singles_s.size()) * (hot ? 1.25 : 1);
    reading = {throttled_runs > 0 || hot ? 1600.0 : 1995.0, 500, 60};
    throttled_runs -= throttled_runs > 0 ? 1 : 0;
    clock_s += single * launches;
    return single * launches;
  }

  std::vector<double> singles_s = {1e-3};
  std::vector<std::uint32_t> prepared;
  double clock_s = 0, rested_s = 0, heated_s = 0;
  std::size_t runs = 0;
  int throttled_runs = 0;
  bool hot = false, captured = true;
};

oracle::Sample sample_of(FakeTimer& timer, oracle::ClockRegime regime, const SamplingLimits& limits = {}) {
  PointSampler sampler(timer, limits);
  oracle::Sample sample;
  sampler.sample([](std::size_t) {}, 1, regime, sample);
  return sample;
}

TEST(PointSampler, SteadyTimesEndAtTheLeastCount) {
  FakeTimer timer;
  const auto sample = sample_of(timer, oracle::ClockRegime::kCool);
  EXPECT_EQ(sample.count, SamplingLimits{}.min_count);
  EXPECT_DOUBLE_EQ(sample.median_s, 1e-3);
  EXPECT_DOUBLE_EQ(sample.std_s, 0);
  EXPECT_DOUBLE_EQ(sample.sm_clock_mhz, 1995);
}

TEST(PointSampler, NoisyTimesGoOnToTheGreatestCount) {
  FakeTimer timer;
  timer.singles_s = {1e-3, 2e-3, 3e-3};
  SamplingLimits limits;
  limits.max_count = 33;
  limits.sustained_max_count = 11;
  limits.budget_s = 1e9;
  EXPECT_EQ(sample_of(timer, oracle::ClockRegime::kCool, limits).count, 33U);
  EXPECT_EQ(sample_of(timer, oracle::ClockRegime::kSustained, limits).count, 11U);
}

TEST(PointSampler, TheBudgetEndsLongOperators) {
  FakeTimer timer;
  timer.singles_s = {0.1, 0.2};
  SamplingLimits limits;
  limits.budget_s = 1;
  EXPECT_LE(sample_of(timer, oracle::ClockRegime::kCool, limits).count, 8U);
}

TEST(PointSampler, ShortOperatorsAreTimedTogether) {
  FakeTimer timer;
  timer.singles_s = {3e-6};
  const auto sample = sample_of(timer, oracle::ClockRegime::kCool);
  EXPECT_EQ(timer.prepared.back(), SamplingLimits{}.max_launches);
  EXPECT_NEAR(sample.median_s, 3e-6, 1e-15);
}

TEST(PointSampler, SustainedHeatsRightBeforeEachRun) {
  FakeTimer timer;
  const auto sample = sample_of(timer, oracle::ClockRegime::kSustained);
  EXPECT_GT(timer.heated_s, 0.3);
  EXPECT_DOUBLE_EQ(timer.rested_s, 0);
  EXPECT_DOUBLE_EQ(sample.median_s, 1.25e-3);
  EXPECT_DOUBLE_EQ(sample.sm_clock_mhz, 1600);
}

TEST(PointSampler, ThrottledRunsAreNotCoolSamples) {
  FakeTimer timer;
  timer.throttled_runs = 9;
  EXPECT_DOUBLE_EQ(sample_of(timer, oracle::ClockRegime::kCool).sm_clock_mhz, 1995);
}

TEST(PointSampler, CoolSamplesAfterALoadComeAfterARest) {
  FakeTimer timer;
  PointSampler sampler(timer, {});
  oracle::Sample hot, cool;
  sampler.sample([](std::size_t) {}, 1, oracle::ClockRegime::kSustained, hot);
  EXPECT_DOUBLE_EQ(timer.rested_s, 0);
  sampler.sample([](std::size_t) {}, 1, oracle::ClockRegime::kCool, cool);
  EXPECT_GT(timer.rested_s, 0.9);
  EXPECT_DOUBLE_EQ(cool.median_s, 1e-3);
}

TEST(PointSampler, ConditioningIsALoadToRestFrom) {
  FakeTimer timer;
  PointSampler sampler(timer, {});
  sampler.condition();
  EXPECT_GT(timer.heated_s, 1);
  oracle::Sample cool;
  sampler.sample([](std::size_t) {}, 1, oracle::ClockRegime::kCool, cool);
  EXPECT_GT(timer.rested_s, 0.9);
}

TEST(PointSampler, LaunchesByTheHostAreNoted) {
  FakeTimer timer;
  timer.captured = false;
  EXPECT_NE(sample_of(timer, oracle::ClockRegime::kCool).note.find("gaps between launches"), std::string::npos);
}

TEST(LaunchesFor, AllCopiesComeRoundOnceIfThatIsShort) {
  const SamplingLimits limits;
  EXPECT_EQ(launches_for(100e-6, 8, limits), 8U);
  EXPECT_EQ(launches_for(100e-3, 8, limits), 1U);
  EXPECT_EQ(launches_for(50e-6, 1, limits), 6U);
}

}  // namespace
}  // namespace dooly::profiling
