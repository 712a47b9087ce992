#include "example_keys.hpp"
#include "profiling_kernels/cuda.hpp"
#include "profiling_kernels/kernels.hpp"
#include "profiling_measure/inputs.hpp"
#include "profiling_measure/local_measurer.hpp"
#include "profiling_measure/runnable.hpp"

#include <ATen/Context.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

// Kernels of the vLLM wheel are looked for in the folder $DOOLY_VLLM_KERNELS.
namespace dooly::profiling {
namespace {

constexpr std::uint64_t kCache = 1 << 20;

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; !cuda_available(&why)) {
      GTEST_SKIP() << "no GPU: " << why;
    }
    const char* folder = std::getenv("DOOLY_VLLM_KERNELS");
    if (folder == nullptr) {
      GTEST_SKIP() << "DOOLY_VLLM_KERNELS names no folder with the vLLM wheel's libraries";
    }
    settings_.device = "cuda";
    settings_.kernels = folder;
  }

  MeasureSettings settings_;
};

/// The result for inputs that depend on the seed alone.
at::Tensor result_of(const Example& example, Kernels& kernels) {
  at::manual_seed(7);
  Inputs inputs(at::kCUDA, kCache);
  return make_runnable(example.key, example.point, kernels, inputs).run(0).to(at::kFloat);
}

TEST_F(OnGpu, KernelsOfTheWheelComputeWhatLibTorchComputes) {
  const auto vllm = make_vllm_kernels(settings_.kernels, settings_.attention);
  const auto torch = make_torch_kernels();
  const auto ours = examples("bfloat16", *vllm), reference = examples("bfloat16", *torch);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    SCOPED_TRACE(ours[i].name);
    if (ours[i].key.kind == "moe_experts") {
      continue;  // a Triton kernel, not in these libraries
    }
    const at::Tensor expected = result_of(reference[i], *torch), found = result_of(ours[i], *vllm);
    ASSERT_EQ(found.sizes(), expected.sizes());
    const double error = found.sub(expected).norm().item<double>() / expected.norm().item<double>();
    EXPECT_LT(error, 1e-2);
  }
}

TEST_F(OnGpu, EachKindIsTimedInBothRegimes) {
  const auto measurer = make_measurer(settings_);
  const auto kernels = make_vllm_kernels(settings_.kernels, settings_.attention);
  for (const Example& example : examples("bfloat16", *kernels)) {
    if (example.key.kind == "moe_experts") {
      continue;
    }
    SCOPED_TRACE(example.name);
    for (const auto regime : {oracle::ClockRegime::kCool, oracle::ClockRegime::kSustained}) {
      const auto sample = measurer->measure(example.key, example.point, regime);
      EXPECT_EQ(sample.status, oracle::SampleStatus::kOk) << sample.note;
      EXPECT_EQ(sample.note.find("gaps between launches"), std::string::npos);
      EXPECT_GT(sample.sm_clock_mhz, 0);
    }
  }
}

TEST_F(OnGpu, MemoryThatIsNotThereIsAResult) {
  const auto measurer = make_measurer(settings_);
  const auto key = oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 4096, 4096);
  const auto sample = measurer->measure(key, {std::uint64_t{1} << 30U}, oracle::ClockRegime::kCool);
  EXPECT_EQ(sample.status, oracle::SampleStatus::kOutOfMemory) << sample.note;
  EXPECT_EQ(measurer->measure(key, {16}, oracle::ClockRegime::kCool).status, oracle::SampleStatus::kOk);
}

}  // namespace
}  // namespace dooly::profiling
