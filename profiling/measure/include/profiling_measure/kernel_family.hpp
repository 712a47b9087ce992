#pragma once

#include <string>
#include <vector>

namespace dooly::profiling {

/// The implementation that kernel symbols (mangled or not) tell of: fa3, fa2, cublas, vllm-c, triton, torch, …; for
/// several, that of the first that is not LibTorch's own. Empty: no kernels, or none that is known.
std::string kernel_family(const std::vector<std::string>& symbols);

}  // namespace dooly::profiling
