#include "profiling_measure/cuda_graph.hpp"

#include <utility>

namespace dooly::profiling {

namespace {
constexpr int kRelaxedCapture = 2;  // cudaStreamCaptureModeRelaxed: allocations are allowed while capturing
}

CudaGraph::~CudaGraph() {
  if (exec_ != nullptr) cuda_->graph_exec_destroy(exec_);
}

CudaGraph::CudaGraph(CudaGraph&& other) noexcept : cuda_(other.cuda_), exec_(std::exchange(other.exec_, nullptr)) {}

void CudaGraph::capture(CudaRuntime::Handle stream, const std::function<void()>& launch) {
  cuda_->check(cuda_->begin_capture(stream, kRelaxedCapture), "cudaStreamBeginCapture");
  CudaRuntime::Handle graph = nullptr;
  const auto destroy = [&] {
    if (graph != nullptr) cuda_->graph_destroy(graph);
  };
  try {
    launch();
  } catch (...) {
    cuda_->end_capture(stream, &graph);
    destroy();
    cuda_->take_error();
    throw;
  }
  const int captured = cuda_->end_capture(stream, &graph);
  const int made = captured == 0 ? cuda_->graph_instantiate(&exec_, graph, 0) : 0;
  destroy();
  cuda_->check(captured, "cudaStreamEndCapture");
  cuda_->check(made, "cudaGraphInstantiate");
}

void CudaGraph::launch(CudaRuntime::Handle stream) const {
  cuda_->check(cuda_->graph_launch(exec_, stream), "cudaGraphLaunch");
}

}  // namespace dooly::profiling
