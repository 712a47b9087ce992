#pragma once

#include "vllm_attention.hpp"

#include <memory>
#include <string>

namespace dooly::profiling {

/// FlashInfer's kernels of folder/libdooly_flashinfer.so (scripts/flashinfer-kernels), called as vLLM 0.26's back end
/// calls them on a Hopper GPU without TensorRT-LLM's: decodes, which come first in a batch, and prompts are two
/// launches, each planned on the host once a step. Windows are refused, as the engine refuses them there. Throws
/// ProfilingError if the library cannot be loaded.
std::unique_ptr<VllmAttention> make_flashinfer_attention(const std::string& folder);

}  // namespace dooly::profiling
