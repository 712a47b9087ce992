#pragma once

#include "vllm_attention.hpp"

#include <memory>
#include <string>

namespace dooly::profiling {

/// vLLM's unified Triton attention, compiled ahead of time by scripts/triton-attention to `folder`/attention: the
/// operator dooly::triton_attention. Which of its kernels run, and on which grid, follows unified_attention and its
/// metadata builder of vLLM 0.26. Throws ProfilingError for a table of kernels that cannot be read.
std::unique_ptr<VllmAttention> make_triton_attention(const std::string& folder);

/// The number of sequences up to which decodes are split, as the engine's builder fixes it for so many KV heads: the
/// captured batch size next to what fills the GPU.
std::int64_t triton_split_limit(std::int64_t kv_heads);

}  // namespace dooly::profiling
