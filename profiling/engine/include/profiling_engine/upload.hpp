#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/Device.h>
#include <c10/core/SymInt.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// A tensor of `shape` on `device` that holds `values`. A GPU gets them through pinned memory, without waiting for what
/// it computes.
template <class T>
at::Tensor upload(const std::vector<T>& values, c10::SymIntArrayRef shape, c10::Device device) {
  const auto options = at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value);
  at::Tensor tensor = at::empty_symint(shape, options.device(device));
  TORCH_CHECK(tensor.numel() == static_cast<std::int64_t>(values.size()), "step inputs: a tensor of ", tensor.sizes(),
              " was asked for, but the batch needs ", values.size(), " values");
  at::Tensor host = device.is_cpu() ? tensor : at::empty(tensor.sizes(), options.pinned_memory(device.is_cuda()));
  std::copy(values.begin(), values.end(), host.mutable_data_ptr<T>());
  if (!device.is_cpu()) tensor.copy_(host, /*non_blocking=*/true);
  return tensor;
}

template <class T>
at::Tensor upload(const std::vector<T>& values, c10::Device device) {
  return upload(values, {static_cast<std::int64_t>(values.size())}, device);
}

}  // namespace dooly::profiling
