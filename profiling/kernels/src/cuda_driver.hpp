#pragma once

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dooly::profiling {

/// A Triton kernel that was compiled ahead of time, loaded.
struct CompiledKernel {
  void* function = nullptr;
  std::int64_t shared_bytes = 0, warps = 0;
  std::vector<std::string> arguments;  ///< in order, by the names of the Triton kernel
};

/// The part of the CUDA driver API that loads and launches compiled kernels (names and numbers of version 13). Found
/// while running.
class CudaDriver {
 public:
  /// Throws ProfilingError if libcuda is not there.
  CudaDriver();

  /// `in` is what a script wrote beside its cubins: cubin (a file in `folder`), function, shared, warps, arguments.
  /// Throws ProfilingError for a file that cannot be read or is no kernel of this GPU.
  CompiledKernel load(const std::string& folder, const nlohmann::json& in) const;

  /// On LibTorch's current stream. `values` are the arguments as the kernel reads them: pointers and 64-bit integers of
  /// 8 bytes, others in the lower 4; Triton's two scratch pointers are added. `what` names the operator in errors.
  void launch(const CompiledKernel& kernel, const std::array<std::int64_t, 3>& grid, std::vector<std::uint64_t> values,
              const std::string& what) const;

 private:
  template <class Function>
  void find(void* library, const char* name, Function& function);
  static void check(int status, const char* call, const std::string& what);

  int (*module_load_data_)(void**, const void*) = nullptr;
  int (*module_get_function_)(void**, void*, const char*) = nullptr;
  int (*function_set_attribute_)(void*, int, int) = nullptr;
  int (*launch_kernel_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**) = nullptr;
};

/// The native handle of LibTorch's current CUDA stream.
void* current_cuda_stream();

}  // namespace dooly::profiling
