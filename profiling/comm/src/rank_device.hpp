#pragma once

#include "comm_libraries.hpp"
#include "profiling_comm/rank_group.hpp"
#include "profiling_measure/nvml.hpp"
#include "rank_protocol.hpp"
#include "spin_barrier.hpp"

#include <memory>
#include <string>

namespace dooly::profiling {

/// One GPU of a group, in its own process: NCCL on a stream, timed by two events. All ranks do the same calls in the
/// same order. Throws std::bad_alloc if the GPU has no memory for the buffers, std::runtime_error for all else.
class RankDevice {
 public:
  RankDevice(std::uint32_t rank, std::uint32_t ranks, SpinBarrier& barrier);
  ~RankDevice();
  RankDevice(const RankDevice&) = delete;
  RankDevice& operator=(const RankDevice&) = delete;

  std::string unique_id() const;
  void join(const std::string& id);
  void buffers(const BufferBytes& bytes);
  /// Whether the launches are captured.
  bool prepare(const CommWork& work);
  RankTimes run(std::uint32_t repetitions);

 private:
  using Handle = CudaRuntime::Handle;
  void launch();
  void launch_all(unsigned event_flags);
  bool capture();
  void drop_graph();
  double once(bool reads, DeviceReading& reading);

  std::uint32_t rank_, ranks_;
  SpinBarrier* barrier_;
  CudaRuntime cuda_ = load_cuda_runtime();
  CommNccl nccl_;
  std::unique_ptr<Nvml> nvml_;  // of the first rank alone
  CommNccl::Communicator communicator_ = nullptr;
  Handle stream_ = nullptr, start_ = nullptr, stop_ = nullptr, graph_ = nullptr;
  void *send_ = nullptr, *receive_ = nullptr;
  BufferBytes held_;
  CommWork work_;
};

}  // namespace dooly::profiling
