#include "vllm_attention.hpp"

#include "flash_attention_3.hpp"
#include "flashinfer_attention.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "triton_attention.hpp"

#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <optional>

namespace dooly::profiling {

namespace {

using c10::IValue;

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

class FlashAttention3 final : public VllmAttention {
 public:
  at::Tensor run(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                 const AttentionMetadata& metadata, const AttentionShape& shape) const override {
    FlashAttention3Library::Call call;
    call.out = at::empty_like(q, q.options(), at::MemoryFormat::Contiguous);
    call.query_start = metadata.query_start;
    call.lengths = metadata.sequence_lengths;
    call.block_table = metadata.block_table;
    call.schedule = metadata.schedule;
    call.max_query = metadata.max_query;
    call.max_key = metadata.max_sequence;
    call.splits = flash_splits(q.size(0));
    call.window_left = window_left(shape);
    call.window_right = window_right(shape);
    call.scale = shape.scale;
    call.soft_cap = shape.soft_cap;
    library_.attend(q, k_cache, v_cache, call);
    return call.out;
  }

  at::Tensor schedule(const AttentionMetadata& metadata, const AttentionShape& shape,
                      at::ScalarType type) const override {
    return library_.schedule(metadata, {shape.heads, shape.kv_heads, shape.head_dim, shape.head_dim}, type,
                             shape.block_size, window_left(shape), window_right(shape));
  }

  std::string refusal(const AttentionShape& shape, at::ScalarType type) const override {
    return vllm_attention_refusal("fa3", shape, type);
  }

 private:
  FlashAttention3Library library_;
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
