#pragma once

#include "profiling_engine/last_tokens.hpp"
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
/// GPU: a stream of its own, which is the calling thread's current one while the lane lives, timed by events: from the
/// first copy of the inputs to the last kernel of the sampler.
class DeviceLane {
 public:
  virtual ~DeviceLane() = default;
  using Work = std::function<at::Tensor()>;
  /// `layout` is called at once, lays the step's inputs out and returns what computes them: it launches the step and
  /// returns its token ids, on the device.
  virtual void submit(const std::function<Work()>& layout) = 0;
  /// Waits for the oldest step. Rethrows what it threw.
  virtual StepResult collect() = 0;
};
std::unique_ptr<DeviceLane> make_device_lane(c10::Device device);

/// How a step was launched.
struct LaunchedStep {
  std::uint32_t tokens = 0;  ///< that are computed, padding included
  bool is_graph = false;     ///< a captured one
};

/// Runs scheduled batches on a model: lays out inputs, keeps sampled tokens on the device for the step after, pads to
/// captured sizes.
class StepRunner {
 public:
  /// `model` must outlive the runner; tags are below `max_tags`. `sizes`: those that decode batches are padded to.
  /// `captures`: they are captured as CUDA graphs, up to `max_requests`, which takes kernels that can be.
  StepRunner(const Model& model, std::uint32_t max_tags, const std::vector<std::uint32_t>& sizes, bool captures = false,
             std::uint32_t max_requests = 0);
  ~StepRunner();
  /// Computes steps of `tokens` by `requests` (no more than there are tags) and of ever fewer, so that memory and
  /// kernels of such sizes are there when serving begins. Writes to the null block alone.
  void warm_up(std::uint32_t tokens, std::uint32_t requests);
  LaunchedStep submit(const std::vector<ScheduledPart>& parts);
  StepResult collect() { return lane_->collect(); }

 private:
  LaunchedStep launch_of(const std::vector<ScheduledPart>& parts) const;
  std::vector<ScheduledPart> null_parts(std::uint32_t tokens, std::uint32_t requests) const;
  DeviceLane::Work laid_out(const std::vector<ScheduledPart>& parts, std::uint32_t tokens);

  const Model& model_;
  oracle::CudaGraphs graphs_;
  StepSettings settings_;
  KvTensors cache_;
  std::unique_ptr<LastTokens> last_;
  std::unique_ptr<class StepGraphs> captured_;
  std::unique_ptr<DeviceLane> lane_;  ///< last: ends before what its steps use
};

}  // namespace dooly::profiling
