#pragma once

#include "profiling_trace/trace.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace dooly::profiling {

/// A tensor argument of a recorded call.
struct ReplayTensor {
  std::vector<std::int64_t> sizes, strides;
  at::ScalarType dtype = at::kFloat;
  c10::Device device = c10::DeviceType::CPU;
  at::Tensor kept;  ///< integers (ids, positions, block tables, lengths) as the engine's own code made them
  /// Result `second` of operator `first` of the trace, if that made it.
  std::optional<std::pair<std::size_t, std::size_t>> producer;
};

/// A recorded call: the operator, and its arguments without the tensors.
struct ReplayCall {
  c10::OperatorHandle handle;
  std::vector<c10::IValue> arguments;                      ///< tensors are None, lists of tensors empty
  std::map<std::size_t, std::vector<ReplayTensor>> tensors;  ///< by argument
};

/// Runs recorded calls again. Tensors are those that earlier calls of this replay made, else the engine's integers,
/// else generated: normally distributed numbers in the recorded layout.
class Replay {
 public:
  explicit Replay(const Trace& trace) : trace_(trace) {}
  /// Throws c10::Error or whatever the operator throws with such inputs.
  void run(std::size_t index);
  /// Waits for the device, whose errors come late. Throws them.
  void finish() const;

 private:
  at::Tensor tensor(const ReplayTensor& wanted) const;
  const Trace& trace_;
  bool on_gpu_ = false;
  std::map<std::pair<std::size_t, std::size_t>, at::Tensor> made_;
};

}  // namespace dooly::profiling
