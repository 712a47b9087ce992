#include "weight_maker.hpp"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>

namespace dooly::profiling {

namespace {
constexpr std::size_t kWritten = std::size_t{1} << 20;  ///< bytes; larger weights for shapes alone stay untouched
}

WeightMaker::WeightMaker(const ModelSettings& settings)
    : settings_(settings),
      generator_(at::globalContext().defaultGenerator(settings.device.is_meta() ? at::kCPU : settings.device).clone()) {
  generator_.set_current_seed(settings.seed);
}

at::Tensor WeightMaker::make(c10::SymIntArrayRef shape, double low, double high) {
  at::Tensor tensor = at::empty_symint(shape, at::TensorOptions().dtype(settings_.dtype).device(settings_.device));
  if (settings_.weights == ModelSettings::Weights::kRandom) {
    tensor.uniform_(low, high, generator_);
  } else if (tensor.nbytes() < kWritten) {
    tensor.zero_();
  }
  bytes_ += tensor.nbytes();
  return tensor;
}

at::Tensor WeightMaker::zeros(c10::SymIntArrayRef shape) {
  at::Tensor tensor = at::zeros_symint(shape, at::TensorOptions().dtype(settings_.dtype).device(settings_.device));
  bytes_ += tensor.nbytes();
  return tensor;
}

at::Tensor WeightMaker::matrix(c10::SymIntArrayRef shape) {
  const double bound = std::sqrt(3.0 / static_cast<double>(shape.back().guard_int(__FILE__, __LINE__)));
  return make(shape, -bound, bound);
}

at::Tensor WeightMaker::bias(c10::SymInt size) { return make({std::move(size)}, -0.5, 0.5); }

at::Tensor WeightMaker::norm(c10::SymInt size, double factor) {
  return make({std::move(size)}, 0.75 * factor, 1.25 * factor);
}

at::Tensor WeightMaker::embedding(c10::SymInt rows, c10::SymInt width) {
  const double bound = std::sqrt(3.0);
  return make({std::move(rows), std::move(width)}, -bound, bound);
}

at::Tensor WeightMaker::rotary_table(c10::SymInt positions, c10::SymInt rotary_dim, double base) {
  at::Tensor table = zeros({std::move(positions), std::move(rotary_dim)});
  // How the values come about is no part of the model: nobody need trace it.
  const c10::impl::ExcludeDispatchKeyGuard unseen(c10::DispatchKey::TESTING_ONLY_GenericMode);
  const auto options = at::TensorOptions().dtype(at::kFloat).device(settings_.device);
  const std::int64_t half = table.size(1) / 2;
  const at::Tensor rates = at::pow(base, at::arange(half, options) / -static_cast<double>(half));
  const at::Tensor angles = at::arange(table.size(0), options).unsqueeze(1) * rates;
  table.copy_(at::cat({at::cos(angles), at::sin(angles)}, 1));
  return table;
}

}  // namespace dooly::profiling
