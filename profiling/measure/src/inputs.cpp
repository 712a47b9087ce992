#include "profiling_measure/inputs.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dooly::profiling {

namespace {

constexpr double kTimesCache = 3;
constexpr double kMostCopies = 64;
constexpr double kCachedShare = 0.125, kMostCachedCopies = 8;

template <typename Integer>
at::Tensor to_device(const std::vector<Integer>& values, at::Device device) {
  const auto type = sizeof(Integer) == 4 ? at::kInt : at::kLong;
  auto* data = const_cast<Integer*>(values.data());  // only read: copied at once
  return at::from_blob(data, {static_cast<std::int64_t>(values.size())}, at::TensorOptions(type))
      .to(device, type, false, true);
}

}  // namespace

at::Tensor Inputs::random(const std::string& name, const Sizes& sizes, at::ScalarType type, double deviation) {
  at::Tensor& kept = kept_[name];
  if (!kept.defined() || kept.sizes() != at::IntArrayRef(sizes) || kept.scalar_type() != type) {
    kept = at::Tensor();  // gives its memory back first
    kept = at::randn(sizes, at::TensorOptions(device_).dtype(type)).mul_(deviation);
  }
  return kept;
}

at::Tensor Inputs::integers(const std::vector<std::int64_t>& values) const { return to_device(values, device_); }
at::Tensor Inputs::integers(const std::vector<std::int32_t>& values) const { return to_device(values, device_); }

std::int64_t Inputs::copies(double bytes) const {
  const double wanted = std::ceil(kTimesCache * static_cast<double>(cache_bytes_) / std::max(bytes, 1.0));
  return static_cast<std::int64_t>(std::clamp(wanted, 1.0, kMostCopies));
}

std::int64_t Inputs::cached_copies(double bytes) const {
  const double room = kCachedShare * static_cast<double>(cache_bytes_);
  return static_cast<std::int64_t>(std::clamp(std::floor(room / std::max(bytes, 1.0)), 1.0, kMostCachedCopies));
}

void Inputs::begin(const std::string& operation) {
  if (operation != operation_) {
    clear();
    operation_ = operation;
  }
}

void Inputs::clear() {
  kept_.clear();
  operation_.clear();
}

at::ScalarType scalar_type(std::string_view dtype) {
  if (dtype == "bfloat16") {
    return at::kBFloat16;
  }
  if (dtype == "float16") {
    return at::kHalf;
  }
  if (dtype == "float32") {
    return at::kFloat;
  }
  throw ProfilingError(fmt::format("tensors of {} cannot be made here; allowed: bfloat16, float16, float32", dtype));
}

}  // namespace dooly::profiling
