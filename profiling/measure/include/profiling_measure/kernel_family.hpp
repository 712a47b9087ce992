#pragma once

#include <string>
#include <vector>

namespace dooly::profiling {

/// The implementation that kernel symbols (mangled or not) tell of: fa3, fa2, cublas, vllm-c, triton-fused-moe, torch,
/// …; of several the one that does the work, not the helpers around it. Empty: no kernels, or none that is known.
std::string kernel_family(const std::vector<std::string>& symbols);

}  // namespace dooly::profiling
