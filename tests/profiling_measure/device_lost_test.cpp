#include "profiling_measure/device_lost.hpp"

#include "idle_kernels.hpp"
#include "oracle/operator_keys.hpp"
#include "profiling_kernels/cuda.hpp"
#include "profiling_measure/local_measurer.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace dooly::profiling {
namespace {

/// Kernels whose product reads far outside its operand: the device stops with an error that stays.
class BreakingKernels final : public IdleKernels {
 public:
  BreakingKernels() : IdleKernels("breaking") {}
  at::Tensor linear(const at::Tensor&, const at::Tensor& weight, const std::optional<at::Tensor>&) override {
    return at::embedding(weight, at::full({4}, std::int64_t{1} << 20, weight.options().dtype(at::kLong)));
  }
};

TEST(DeviceLost, AnErrorThatStaysIsThrownNotStored) {
  if (std::string why; !cuda_available(&why)) {
    GTEST_SKIP() << "no GPU: " << why;
  }
  MeasureSettings settings;
  settings.device = "cuda";
  settings.check_drift = false;
  const auto measurer = make_measurer(make_cuda_timer(), std::make_unique<BreakingKernels>(), settings, {});
  const auto key = oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 64, 64, false, "breaking");
  EXPECT_THROW(measurer->measure(key, {4}, oracle::ClockRegime::kCool), DeviceLost);
}

}  // namespace
}  // namespace dooly::profiling
