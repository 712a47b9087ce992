#pragma once

#include "profiling_measure/cuda_graph.hpp"

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace dooly::profiling {

/// Memory that captured graphs work in, and nobody else: LibTorch's allocator hands out of it what is asked for during
/// a capture and keeps it as long as the pool lives. Graphs of one pool must not run at the same time.
class GraphPool {
 public:
  explicit GraphPool(c10::Device device);
  ~GraphPool();
  GraphPool(const GraphPool&) = delete;
  GraphPool& operator=(const GraphPool&) = delete;

  /// graph.capture(stream, launch), with memory of the pool for what is allocated on `stream`.
  void capture(CudaGraph& graph, CudaRuntime::Handle stream, const std::function<void()>& launch);

 private:
  c10::Device device_;
  std::uint64_t number_;
  std::size_t captures_ = 0;
};

}  // namespace dooly::profiling
