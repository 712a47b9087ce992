#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>

namespace dooly::profiling {

/// Registers the operators of the library `dooly` with LibTorch's dispatcher, once. Each is one operation of a step
/// plan, computed by a composition of LibTorch's own operators on any device (paged attention has loops of its own on
/// the CPU), so that whoever watches the dispatcher sees one operator:
///   paged_attention, fused_experts, topk_softmax, add_rms_norm_, rope_, write_kv_, gated_activation, add_terms,
///   soft_cap, sigmoid_mul, greedy_sample, all_reduce_, all_gather; of latent attention write_latent_,
///   latent_attention, expanded_attention, gather_latent, ignore_empty_, merge_attention_.
void register_torch_operators();

/// Sum of tensors of equal shape (dooly::add_terms).
at::Tensor add_terms(at::TensorList terms);
/// cap × tanh(x / cap) (dooly::soft_cap).
at::Tensor soft_cap(const at::Tensor& x, double cap);
/// sigmoid(gate) × x, gate [T, 1] (dooly::sigmoid_mul).
at::Tensor sigmoid_mul(const at::Tensor& gate, const at::Tensor& x);
/// What a tensor-parallel rank sees of a collective while it runs alone: shapes and traffic of one rank, values of its
/// own share (dooly::all_reduce_, in place; dooly::all_gather, along the last dimension).
void all_reduce(at::Tensor& x, std::int64_t ranks);
at::Tensor all_gather(const at::Tensor& x, std::int64_t ranks);

}  // namespace dooly::profiling
