#pragma once

#include <string>

namespace dooly::profiling {

/// Loads libtorch_cuda.so, which lies beside libtorch_cpu.so, once: after it tensors can be made on "cuda". Throws
/// ProfilingError with the loader's words if it is not there or no GPU can be used.
void load_cuda();

/// Whether load_cuda() works here; if not, `why` (may be null) says the reason.
bool cuda_available(std::string* why = nullptr);

}  // namespace dooly::profiling
