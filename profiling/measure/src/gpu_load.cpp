#include "gpu_load.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

namespace dooly::profiling {

namespace {

constexpr std::int64_t kSize = 8192;
constexpr int kProducts = 8;

}  // namespace

GpuLoad::GpuLoad() {
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  left_ = at::randn({kSize, kSize}, options);
  right_ = at::randn({kSize, kSize}, options);
  out_ = at::empty({kSize, kSize}, options);
}

void GpuLoad::run() {
  for (int i = 0; i < kProducts; ++i) {
    at::mm_out(out_, left_, right_);
  }
}

}  // namespace dooly::profiling
