#include "profiling_measure/local_measurer.hpp"

#include "example_keys.hpp"
#include "oracle/operator_keys.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/timer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

/// The processor's timer with symbols that a GPU's would have.
class SymbolTimer final : public Timer {
 public:
  explicit SymbolTimer(std::vector<std::string> symbols) : symbols_(std::move(symbols)) {}
  std::unique_ptr<TimedWork> prepare(const Run& run, std::uint32_t launches, std::size_t copies) override {
    return timer_->prepare(run, launches, copies);
  }
  double now() override { return timer_->now(); }
  void pause(double seconds) override { timer_->pause(seconds); }
  void heat(double seconds) override { timer_->heat(seconds); }
  double top_clock_mhz() const override { return timer_->top_clock_mhz(); }
  std::uint64_t cache_bytes() const override { return timer_->cache_bytes(); }
  oracle::Environment environment() override { return timer_->environment(); }
  std::vector<std::string> kernels_of(const Run&) override { return symbols_; }
  void recover() override { timer_->recover(); }

 private:
  std::unique_ptr<Timer> timer_ = make_cpu_timer();
  std::vector<std::string> symbols_;
};

oracle::Sample with_symbols(const oracle::OperatorKey& key, std::vector<std::string> symbols) {
  const auto measurer =
      make_measurer(std::make_unique<SymbolTimer>(std::move(symbols)), make_torch_kernels(), quick(), {});
  return measurer->measure(key, {4}, ClockRegime::kUnknown);
}

TEST(LocalMeasurer, KernelsOfAnotherFamilyAreNoMeasurementOfTheKey) {
  const auto key = oracle::linear_key({"float32", "float32", "float32"}, 64, 64, false, "torch");
  const auto good = with_symbols(key, {"nvjet_sm90_tst_128x64_64x9_2x1_v_bz_TNT"});  // LibTorch calls cuBLAS
  EXPECT_EQ(good.status, SampleStatus::kOk) << good.note;
  EXPECT_EQ(good.kernel_family, "cublas");
  EXPECT_EQ(good.note.find("ran kernels"), std::string::npos) << good.note;
  const auto other = with_symbols(key, {"_ZN5flash24flash_fwd_splitkv_kernelI"});
  EXPECT_EQ(other.status, SampleStatus::kSuspect);
  EXPECT_NE(other.note.find("ran kernels of fa2, the key names torch"), std::string::npos) << other.note;
  const auto unknown = with_symbols(key, {"my_gemm_sm90_128x64"});
  EXPECT_EQ(unknown.status, SampleStatus::kOk);
  EXPECT_EQ(unknown.kernel_family, "my_gemm");
  EXPECT_NE(unknown.note.find("ran kernels of my_gemm, which is no family that is known"), std::string::npos)
      << unknown.note;
}

TEST(LocalMeasurer, WhatStandsInForTheCompilerIsNoted) {
  const auto sample = with_symbols(oracle::layer_norm_key("float32", 64, false),
                                   {"_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a28"});
  EXPECT_EQ(sample.status, SampleStatus::kOk) << sample.note;
  EXPECT_EQ(sample.kernel_family, "torch");
  EXPECT_NE(sample.note.find("LibTorch's operator in place of one that the engine compiles"), std::string::npos);
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
