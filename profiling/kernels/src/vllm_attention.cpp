#include "vllm_attention.hpp"

#include "flashinfer_attention.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "triton_attention.hpp"

#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <optional>

namespace dooly::profiling {

namespace {

using c10::IValue;

// vLLM captures CUDA graphs up to so many tokens; for batches within it fixes the greatest number of splits, as the
// buffers of a captured graph must hold them. Beyond, the kernel chooses. (vllm/config/attention.py and
// v1/attention/backends/flash_attn.py of 0.26)
constexpr std::int64_t kGraphSplits = 32;

/// FlashAttention counts how far back a query sees, itself not counted; -1: everything.
std::int64_t window_left(const AttentionShape& shape) { return shape.window > 0 ? shape.window - 1 : -1; }
std::int64_t window_right(const AttentionShape& shape) { return shape.window > 0 ? 0 : -1; }

/// What none of the wheel's versions has kernels for.
std::string flash_attention_refusal(const char* name, const AttentionShape& shape, at::ScalarType type) {
  constexpr std::int64_t kWidestHead = 256;
  if (type != at::kBFloat16 && type != at::kHalf) return fmt::format("{}: bfloat16 and float16 alone", name);
  if (shape.head_dim > kWidestHead)
    return fmt::format("{}: heads of {}: at most {}", name, shape.head_dim, kWidestHead);
  return {};
}

[[noreturn]] void refuse_backend(std::string_view name) {
  throw ProfilingError(
      fmt::format("attention of the engine: no kernels of '{}' here; there are fa3, fa2, triton, flashinfer", name));
}

IValue none() { return {}; }

IValue optional(const at::Tensor& tensor) { return tensor.defined() ? IValue(tensor) : IValue(); }

class FlashAttention3 final : public VllmAttention {
 public:
  at::Tensor run(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                 const AttentionMetadata& metadata, const AttentionShape& shape) const override {
    const at::Tensor out = at::empty_like(q, q.options(), at::MemoryFormat::Contiguous);
    forward_({q,
              k_cache,
              v_cache,
              none() /*k_new*/,
              none() /*v_new*/,
              none() /*q_v*/,
              out,
              metadata.query_start,
              none() /*cu_seqlens_k*/,
              none() /*cu_seqlens_k_new*/,
              none() /*seqused_q*/,
              metadata.sequence_lengths,
              metadata.max_query,
              metadata.max_sequence,
              metadata.block_table,
              none() /*kv_batch_idx*/,
              none() /*leftpad_k*/,
              none() /*rotary_cos*/,
              none() /*rotary_sin*/,
              none() /*seqlens_rotary*/,
              none() /*q_descale*/,
              none() /*k_descale*/,
              none() /*v_descale*/,
              shape.scale,
              true /*causal*/,
              window_left(shape),
              window_right(shape),
              shape.soft_cap,
              true /*rotary_interleaved*/,
              optional(metadata.schedule),
              flash_splits(q.size(0)),
              none() /*pack_gqa*/,
              std::int64_t{0} /*sm_margin*/,
              none() /*s_aux*/,
              std::int64_t{1} /*cp_world_size*/,
              std::int64_t{0} /*cp_rank*/,
              none() /*cp_tot_seqused_k*/});
    return out;
  }

  at::Tensor schedule(const AttentionMetadata& metadata, const AttentionShape& shape,
                      at::ScalarType type) const override {
    const std::int64_t tokens = metadata.slot_mapping.size(0);
    return schedule_({metadata.sequence_lengths.size(0),
                      metadata.max_query,
                      metadata.max_sequence,
                      shape.heads,
                      shape.kv_heads,
                      shape.head_dim,
                      shape.head_dim,
                      type,
                      metadata.sequence_lengths,
                      metadata.query_start,
                      none() /*cu_seqlens_k*/,
                      none() /*cu_seqlens_k_new*/,
                      none() /*seqused_q*/,
                      none() /*leftpad_k*/,
                      shape.block_size,
                      std::int64_t{0} /*max_seqlen_k_new*/,
                      true /*causal*/,
                      window_left(shape),
                      window_right(shape),
                      false /*has_softcap*/,
                      flash_splits(tokens),
                      none() /*pack_gqa*/,
                      std::int64_t{0} /*sm_margin*/})
        .at(0)
        .toTensor();
  }

  std::string refusal(const AttentionShape& shape, at::ScalarType type) const override {
    return vllm_attention_refusal("fa3", shape, type);
  }

 private:
  VllmOperator forward_{"_vllm_fa3_C::fwd"};
  VllmOperator schedule_{"_vllm_fa3_C::get_scheduler_metadata"};
};

class FlashAttention2 final : public VllmAttention {
 public:
  at::Tensor run(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                 const AttentionMetadata& metadata, const AttentionShape& shape) const override {
    const at::Tensor out = at::empty_like(q, q.options(), at::MemoryFormat::Contiguous);
    const at::Tensor unused_key_starts = at::empty_like(metadata.query_start);  // wanted, not read
    forward_({q,
              k_cache,
              v_cache,
              out,
              metadata.query_start,
              unused_key_starts,
              metadata.sequence_lengths,
              none() /*leftpad_k*/,
              metadata.block_table,
              none() /*alibi_slopes*/,
              metadata.max_query,
              metadata.max_sequence,
              0.0 /*dropout*/,
              shape.scale,
              false /*zero_tensors*/,
              true /*causal*/,
              window_left(shape),
              window_right(shape),
              shape.soft_cap,
              false /*return_softmax*/,
              std::int64_t{0} /*num_splits*/,
              none() /*generator*/});
    return out;
  }

  std::string refusal(const AttentionShape& shape, at::ScalarType type) const override {
    return vllm_attention_refusal("fa2", shape, type);
  }

 private:
  VllmOperator forward_{"_vllm_fa2_C::varlen_fwd"};
};

}  // namespace

std::int64_t flash_splits(std::int64_t tokens) { return tokens <= kGraphTokens ? kGraphSplits : 0; }

std::unique_ptr<VllmAttention> make_vllm_attention(std::string_view name, const std::string& folder) {
  if (name == "fa3") return std::make_unique<FlashAttention3>();
  if (name == "fa2") return std::make_unique<FlashAttention2>();
  if (name == "triton") return make_triton_attention(folder);
  if (name == "flashinfer") return make_flashinfer_attention(folder);
  refuse_backend(name);
}

std::string vllm_attention_refusal(std::string_view name, const AttentionShape& shape, at::ScalarType type) {
  if (name == "fa3") return flash_attention_refusal("FlashAttention 3", shape, type);
  if (name == "fa2") return flash_attention_refusal("FlashAttention 2", shape, type);
  if (name == "triton")
    return type == at::kBFloat16 ? "" : "Triton attention: scripts/triton-attention compiles bfloat16 only";
  if (name != "flashinfer") refuse_backend(name);
  if (type != at::kBFloat16) return "FlashInfer: only bfloat16 is compiled";
  if (shape.window > 0)
    return fmt::format("FlashInfer: window {}: the engine has none with this back end on a Hopper GPU", shape.window);
  return {};
}

std::vector<std::string> vllm_attention_libraries(std::string_view name) {
  if (name == "fa3") return {"vllm_flash_attn/_vllm_fa3_C.abi3.so"};
  if (name == "fa2") return {"vllm_flash_attn/_vllm_fa2_C.abi3.so"};
  return {};
}

}  // namespace dooly::profiling
