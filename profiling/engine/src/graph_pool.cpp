#include "graph_pool.hpp"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>

namespace dooly::profiling {

namespace {

/// Of the allocator's class only virtual functions are called, so that libc10_cuda need not be linked.
c10::cuda::CUDACachingAllocator::CUDAAllocator& allocator() {
  return *static_cast<c10::cuda::CUDACachingAllocator::CUDAAllocator*>(c10::getDeviceAllocator(c10::DeviceType::CUDA));
}

/// LibTorch numbers its own pools from 1 on in either half; these are out of their reach. Pools that are gone stay
/// known to it for a while, so no number comes again.
std::uint64_t next_number() {
  constexpr std::uint64_t kFirst = 0xD0017ULL << 32U;
  static std::uint64_t number = kFirst;
  return number++;
}

}  // namespace

GraphPool::GraphPool(c10::Device device) : device_(device), number_(next_number()) {}

GraphPool::~GraphPool() {
  for (; captures_ > 0; --captures_) allocator().releasePool(device_.index(), {0, number_});
}

void GraphPool::capture(CudaGraph& graph, CudaRuntime::Handle stream, const std::function<void()>& launch) {
  const c10::MempoolId_t pool{0, number_};
  allocator().beginAllocateToPool(device_.index(), pool, [stream](cudaStream_t asking) { return asking == stream; });
  ++captures_;
  try {
    graph.capture(stream, launch);
  } catch (...) {
    allocator().endAllocateToPool(device_.index(), pool);
    throw;
  }
  allocator().endAllocateToPool(device_.index(), pool);
}

}  // namespace dooly::profiling
