#pragma once

#include "profiling_engine/model.hpp"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace dooly::profiling {

/// Makes a model's weights. Same settings and order, same weights.
class WeightMaker {
 public:
  explicit WeightMaker(const ModelSettings& settings);
  /// [.., outputs, inputs], of variance 1 / inputs.
  at::Tensor matrix(c10::SymIntArrayRef shape);
  at::Tensor bias(c10::SymInt size);
  /// Of a norm, times `factor`: around 1.
  at::Tensor norm(c10::SymInt size, double factor = 1);
  /// Rows of variance 1.
  at::Tensor embedding(c10::SymInt rows, c10::SymInt width);
  /// Cosines, then sines, of positions × rotary_dim / 2 angles.
  at::Tensor rotary_table(c10::SymInt positions, c10::SymInt rotary_dim, double base);
  at::Tensor zeros(c10::SymIntArrayRef shape);
  std::size_t bytes() const { return bytes_; }

 private:
  at::Tensor make(c10::SymIntArrayRef shape, double low, double high);
  ModelSettings settings_;
  at::Generator generator_;
  std::size_t bytes_ = 0;
};

}  // namespace dooly::profiling
