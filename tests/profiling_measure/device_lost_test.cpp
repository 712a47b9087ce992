#include "profiling_measure/device_lost.hpp"

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
class BreakingKernels final : public Kernels {
 public:
  std::string_view name() const override { return "breaking"; }
  std::string family(std::string_view) const override { return "breaking"; }
  at::Tensor linear(const at::Tensor&, const at::Tensor& weight, const std::optional<at::Tensor>&) override {
    return at::embedding(weight, at::full({4}, std::int64_t{1} << 20, weight.options().dtype(at::kLong)));
  }
  at::Tensor embedding(const at::Tensor& table, const at::Tensor&) override { return table; }
  at::Tensor rms_norm(const at::Tensor& x, const at::Tensor&, double) override { return x; }
  void add_rms_norm(at::Tensor&, at::Tensor&, const at::Tensor&, double) override {}
  at::Tensor layer_norm(const at::Tensor& x, const at::Tensor&, double) override { return x; }
  void rope(const at::Tensor&, at::Tensor&, at::Tensor&, const at::Tensor&, std::int64_t, bool) override {}
  at::Tensor gated_activation(const at::Tensor& x, std::string_view) override { return x; }
  void write_kv(const at::Tensor&, const at::Tensor&, at::Tensor&, at::Tensor&, const AttentionMetadata&) override {}
  at::Tensor attention(const at::Tensor& q, const at::Tensor&, const at::Tensor&, const AttentionMetadata&,
                       const AttentionShape&) override {
    return q;
  }
  std::pair<at::Tensor, at::Tensor> top_experts(const at::Tensor& logits, std::int64_t, bool) override {
    return {logits, logits};
  }
  at::Tensor experts(const at::Tensor& x, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                     const at::Tensor&) override {
    return x;
  }
  at::Tensor sample(const at::Tensor& logits) override { return logits; }
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
