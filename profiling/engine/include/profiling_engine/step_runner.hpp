#pragma once

#include "profiling_engine/model.hpp"
#include "profiling_engine/sequence_book.hpp"

#include "oracle/cuda_graphs.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dooly::profiling {

/// What came of a step.
struct StepResult {
  std::vector<std::int64_t> ids;  ///< of the parts that sample, in their order
  double device_s = 0;            ///< from the step's first work to its last
  double gap_s = 0;               ///< before it the device was idle; 0 for the first step
};

/// Where steps run, in the order in which they were submitted, while the host goes on. A CPU: a thread of its own. A
/// GPU: its current stream, timed by events.
class DeviceLane {
 public:
  virtual ~DeviceLane() = default;
  /// `work` launches a step and returns its token ids, on the device.
  virtual void submit(std::function<at::Tensor()> work) = 0;
  /// Waits for the oldest step. Rethrows what it threw.
  virtual StepResult collect() = 0;
};
std::unique_ptr<DeviceLane> make_device_lane(c10::Device device);

/// Runs scheduled batches on a model: lays out inputs, keeps sampled tokens on the device for the step after, pads to
/// captured sizes.
class StepRunner {
 public:
  /// `model` must outlive the runner; tags are below `max_tags`. `graphs`: sizes that decode batches are padded to.
  StepRunner(const Model& model, std::uint32_t max_tags, oracle::CudaGraphs graphs);
  ~StepRunner();
  /// Returns how many tokens are computed, padding included.
  std::uint32_t submit(const std::vector<ScheduledPart>& parts);
  StepResult collect() { return lane_->collect(); }

 private:
  std::uint32_t padded_tokens(const std::vector<ScheduledPart>& parts) const;

  const Model& model_;
  oracle::CudaGraphs graphs_;
  StepSettings settings_;
  KvTensors cache_;
  at::Tensor last_;  ///< int64 [tags]: token sampled last
  std::unique_ptr<DeviceLane> lane_;  ///< last: ends before what its steps use
};

}  // namespace dooly::profiling
