#include "profiling_kernels/cuda.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <dlfcn.h>
#include <fmt/format.h>

namespace dooly::profiling {

namespace {

std::string load_once() {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return fmt::format("libtorch_cuda.so: {}", dlerror());
  }
  const auto* guard = c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::DeviceType::CUDA)].load();
  if (guard == nullptr) {
    return "libtorch_cuda.so registers no CUDA device";
  }
  return guard->deviceCount() > 0 ? std::string() : "no CUDA device is visible";
}

const std::string& state() {
  static const std::string failure = load_once();
  return failure;
}

}  // namespace

void load_cuda() {
  if (!state().empty()) {
    throw ProfilingError("CUDA cannot be used: " + state());
  }
}

bool cuda_available(std::string* why) {
  if (why != nullptr) {
    *why = state();
  }
  return state().empty();
}

}  // namespace dooly::profiling
