#include "cuda_driver.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

namespace dooly::profiling {

namespace {

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ProfilingError(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

CudaDriver::CudaDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw ProfilingError(fmt::format("libcuda.so.1: {}", dlerror()));
  find(library, "cuModuleLoadData", module_load_data_);
  find(library, "cuModuleGetFunction", module_get_function_);
  find(library, "cuFuncSetAttribute", function_set_attribute_);
  find(library, "cuLaunchKernel", launch_kernel_);
}

template <class Function>
void CudaDriver::find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw ProfilingError(fmt::format("libcuda.so.1 has no {}", name));
}

void CudaDriver::check(int status, const char* call, const std::string& what) {
  if (status != 0) throw std::runtime_error(fmt::format("{}: {} answers CUDA error {}", what, call, status));
}

CompiledKernel CudaDriver::load(const std::string& folder, const nlohmann::json& in) const {
  CompiledKernel kernel{nullptr, in.at("shared").get<std::int64_t>(), in.at("warps").get<std::int64_t>(),
                        in.at("arguments").get<std::vector<std::string>>()};
  const std::string path = folder + "/" + in.at("cubin").get<std::string>();
  const std::string image = file_bytes(path);
  void* module = nullptr;
  check(module_load_data_(&module, image.data()), "cuModuleLoadData", path);
  check(module_get_function_(&kernel.function, module, in.at("function").get<std::string>().c_str()),
        "cuModuleGetFunction", path);
  constexpr int kMaxDynamicSharedSizeBytes = 8;
  check(function_set_attribute_(kernel.function, kMaxDynamicSharedSizeBytes, static_cast<int>(kernel.shared_bytes)),
        "cuFuncSetAttribute", path);
  return kernel;
}

void CudaDriver::launch(const CompiledKernel& kernel, const std::array<std::int64_t, 3>& grid,
                        std::vector<std::uint64_t> values, const std::string& what) const {
  values.insert(values.end(), {0, 0});  // scratch, of which these kernels need none
  std::vector<void*> slots;
  for (std::uint64_t& value : values) slots.push_back(&value);
  constexpr unsigned kWarp = 32;
  check(launch_kernel_(kernel.function, static_cast<unsigned>(grid[0]), static_cast<unsigned>(grid[1]),
                       static_cast<unsigned>(grid[2]), kWarp * static_cast<unsigned>(kernel.warps), 1, 1,
                       static_cast<unsigned>(kernel.shared_bytes), current_cuda_stream(), slots.data(), nullptr),
        "cuLaunchKernel", what);
}

void* current_cuda_stream() {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return guard.getStreamNativeHandle(guard.getStream(guard.getDevice()));
}

}  // namespace dooly::profiling
