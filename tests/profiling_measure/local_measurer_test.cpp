#include "profiling_measure/local_measurer.hpp"

#include "example_keys.hpp"
#include "oracle/operator_keys.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

using oracle::ClockRegime;
using oracle::SampleStatus;

MeasureSettings quick() {
  MeasureSettings settings;
  settings.limits.budget_s = 5e-3;
  settings.limits.min_count = 3;
  return settings;
}

TEST(LocalMeasurer, TimesEachKindOnTheProcessor) {
  const auto measurer = make_measurer(quick());
  const auto kernels = make_torch_kernels();
  for (const Example& example : examples("float32", *kernels)) {
    SCOPED_TRACE(example.name);
    std::string why;
    ASSERT_TRUE(measurer->supports(example.key, why)) << why;
    const auto sample = measurer->measure(example.key, example.point, ClockRegime::kCool);
    EXPECT_EQ(sample.status, SampleStatus::kOk) << sample.note;
    EXPECT_EQ(sample.point, example.point);
    EXPECT_GE(sample.count, 3U);
    EXPECT_GT(sample.min_s, 0);
    EXPECT_LE(sample.min_s, sample.p10_s);
    EXPECT_LE(sample.p10_s, sample.median_s);
    EXPECT_LE(sample.median_s, sample.p90_s);
  }
}

TEST(LocalMeasurer, MemoryThatIsNotThereIsAResult) {
  const auto measurer = make_measurer(quick());
  const auto key = oracle::linear_key({"float32", "float32", "float32"}, 4096, 4096, false, "torch");
  const auto sample = measurer->measure(key, {std::uint64_t{1} << 40U}, ClockRegime::kCool);
  EXPECT_EQ(sample.status, SampleStatus::kOutOfMemory);
  EXPECT_NE(sample.note, "");
  EXPECT_EQ(sample.count, 0U);
  EXPECT_EQ(measurer->measure(key, {1}, ClockRegime::kCool).status, SampleStatus::kOk);  // it goes on
}

TEST(LocalMeasurer, WhatNobodyHasIsUnsupported) {
  const auto measurer = make_measurer(quick());
  const auto sample =
      measurer->measure(oracle::bmm_key({"float32", "float32", "float32"}, 2, 8, 8), {1}, ClockRegime::kCool);
  EXPECT_EQ(sample.status, SampleStatus::kUnsupported);
  EXPECT_NE(sample.note.find("bmm"), std::string::npos);
}

TEST(LocalMeasurer, TheEnvironmentNamesTheMachine) {
  const auto environment = make_measurer(quick())->environment();
  EXPECT_TRUE(environment.gpu.starts_with("CPU")) << environment.gpu;
  EXPECT_GT(environment.memory_bytes, 0U);
  EXPECT_EQ(environment.libraries.at("torch"), "2.11.0");
  EXPECT_EQ(environment.source, "measured");
}

TEST(LocalMeasurer, UnknownDevicesAreRefused) {
  MeasureSettings settings = quick();
  settings.device = "tpu";
  EXPECT_THROW(make_measurer(settings), ProfilingError);
}

}  // namespace
}  // namespace dooly::profiling
