#include "profiling_measure/cuda_runtime.hpp"

#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/device_lost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dooly::profiling {

namespace {

constexpr int kOutOfMemory = 2;  // cudaErrorMemoryAllocation
// Errors that a context never leaves (CUDA Runtime API, enum cudaError).
constexpr std::array kSticky = {214 /*ECC*/,           220 /*NVLink*/,         700 /*illegal address*/,
                                702 /*time-out*/,      710 /*assert*/,         714 /*stack*/,
                                715 /*instruction*/,   716 /*misaligned*/,     717 /*address space*/,
                                718 /*program count*/, 719 /*launch failure*/, 721 /*contained*/};

template <typename Function>
void bind(const SharedLibrary& library, const char* name, Function*& into) {
  into = library.find<Function>(name);
  if (into == nullptr) {
    throw ProfilingError(
        fmt::format("libcudart.so.13 {} {}", library.is_loaded() ? "lacks" : "is not loaded, for", name));
  }
}

}  // namespace

CudaRuntime::CudaRuntime() : CudaRuntime(SharedLibrary("libcudart.so.13")) {}

CudaRuntime::CudaRuntime(const SharedLibrary& library) : library_(library) {
  bind(library_, "cudaGetDeviceCount", device_count);
  bind(library_, "cudaSetDevice", set_device);
  bind(library_, "cudaMalloc", malloc);
  bind(library_, "cudaFree", free);
  bind(library_, "cudaMemset", memset);
  bind(library_, "cudaStreamCreateWithFlags", stream_create);
  bind(library_, "cudaStreamSynchronize", stream_synchronize);
  bind(library_, "cudaStreamBeginCapture", begin_capture);
  bind(library_, "cudaStreamEndCapture", end_capture);
  bind(library_, "cudaGraphInstantiate", graph_instantiate);
  bind(library_, "cudaGraphLaunch", graph_launch);
  bind(library_, "cudaGraphExecDestroy", graph_exec_destroy);
  bind(library_, "cudaGraphDestroy", graph_destroy);
  bind(library_, "cudaEventCreate", event_create);
  bind(library_, "cudaEventRecord", event_record);
  bind(library_, "cudaEventRecordWithFlags", event_record_flags);
  bind(library_, "cudaEventSynchronize", event_synchronize);
  bind(library_, "cudaEventElapsedTime", event_elapsed);
  bind(library_, "cudaEventDestroy", event_destroy);
  bind(library_, "cudaMemGetInfo", memory_info);
  bind(library_, "cudaDeviceGetAttribute", device_attribute);
  bind(library_, "cudaDeviceGetPCIBusId", device_bus_id);
  bind(library_, "cudaRuntimeGetVersion", runtime_version);
  bind(library_, "cudaGetLastError", get_last_error);
  bind(library_, "cudaGetErrorString", get_error_string);
}

void CudaRuntime::check(int status, const char* call) const {
  if (status == 0) {
    return;
  }
  const std::string text = fmt::format("{}: {} ({})", call, describe(status), status);
  take_error();
  if (std::find(kSticky.begin(), kSticky.end(), status) != kSticky.end()) {
    throw DeviceLost(text);
  }
  if (status == kOutOfMemory) {
    throw DeviceMemoryFull(text);
  }
  throw std::runtime_error(text);
}

std::string CudaRuntime::bus_id(int device) const {
  std::array<char, 32> text{};
  check(device_bus_id(text.data(), static_cast<int>(text.size()), device), "cudaDeviceGetPCIBusId");
  return text.data();
}

}  // namespace dooly::profiling
