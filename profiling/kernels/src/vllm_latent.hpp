#pragma once

#include "profiling_kernels/latent_kernels.hpp"

#include <memory>
#include <string>

namespace dooly::profiling {

/// Latent attention as vLLM 0.26 runs it on a Hopper GPU (FLASH_ATTN_MLA): FlashAttention 3 of the wheel in the latent
/// and on expanded heads, cache and merging kernels of its library. Throws ProfilingError if one is not loaded.
std::unique_ptr<LatentKernels> make_flash_latent();

/// As KernelClaims::refusal(), of make_flash_latent().
std::string flash_latent_refusal(const LatentShape& shape, at::ScalarType type);

}  // namespace dooly::profiling
