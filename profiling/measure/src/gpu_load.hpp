#pragma once

#include <ATen/core/Tensor.h>

namespace dooly::profiling {

/// Matrix products that keep a GPU at its power cap, about 11 ms of an H200 a run. It computes in memory of its own, so
/// that a captured run never touches another operator's tensors.
class GpuLoad {
 public:
  GpuLoad();
  void run();

 private:
  at::Tensor left_, right_, out_;
};

}  // namespace dooly::profiling
