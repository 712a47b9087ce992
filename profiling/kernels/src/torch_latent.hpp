#pragma once

#include "profiling_kernels/latent_kernels.hpp"

#include <memory>

namespace torch {
class Library;
}

namespace dooly::profiling {

/// Defines and implements the operators of latent attention in the library `dooly`, compositions for any device with
/// sums in float32: write_latent_, latent_attention, expanded_attention, gather_latent, ignore_empty_,
/// merge_attention_.
void add_latent_operators(torch::Library& library);

/// Latent attention by these.
std::unique_ptr<LatentKernels> make_torch_latent();

/// x × weight into out, by LibTorch.
void multiply_heads(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight);

/// dooly::ignore_empty_ and dooly::gather_latent, which vLLM's library has and has not.
void call_ignore_empty(PartialAttention& part, const PromptKeys& keys);

}  // namespace dooly::profiling
