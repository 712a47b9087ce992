#pragma once

#include "profiling_measure/cuda_runtime.hpp"

#include <functional>

namespace dooly::profiling {

/// Launches captured once, then launched as one.
class CudaGraph {
 public:
  /// `cuda` must outlive the graph.
  explicit CudaGraph(const CudaRuntime& cuda) : cuda_(&cuda) {}
  ~CudaGraph();
  CudaGraph(CudaGraph&& other) noexcept;
  CudaGraph& operator=(CudaGraph&&) = delete;

  /// Captures what `launch` puts on `stream`, which must not be the default one; memory may be allocated meanwhile.
  /// Throws what `launch` throws, and for what cannot be captured; the stream is then as before. Once.
  void capture(CudaRuntime::Handle stream, const std::function<void()>& launch);
  void launch(CudaRuntime::Handle stream) const;

 private:
  const CudaRuntime* cuda_;
  CudaRuntime::Handle exec_ = nullptr;
};

}  // namespace dooly::profiling
