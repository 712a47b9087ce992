#pragma once

#include "profiling_taint/taint_mode.hpp"
#include "profiling_trace/replay.hpp"

#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace dooly::profiling {

/// Turns observed calls into ones that can be run again; knows which call made which tensor.
class ReplayRecorder {
 public:
  std::shared_ptr<const ReplayCall> record(const ObservedCall& call, std::size_t index);
  /// Which result of which recorded call a tensor is.
  std::optional<std::pair<std::size_t, std::size_t>> producer(const at::Tensor& tensor) const;

 private:
  ReplayTensor describe(const at::Tensor& tensor) const;
  struct Made {
    c10::weak_intrusive_ptr<c10::TensorImpl> alive;  ///< its address is nobody else's while this exists
    std::pair<std::size_t, std::size_t> by;
  };
  std::map<const c10::TensorImpl*, Made> made_;
};

}  // namespace dooly::profiling
