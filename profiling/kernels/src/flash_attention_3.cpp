#include "flash_attention_3.hpp"

#include "profiling_kernels/kernels.hpp"

namespace dooly::profiling {

namespace {

using c10::IValue;

// vLLM captures CUDA graphs up to so many tokens; for batches within it fixes the greatest number of splits, as the
// buffers of a captured graph must hold them. Beyond, the kernel chooses. (vllm/config/attention.py and
// v1/attention/backends/flash_attn.py of 0.26)
constexpr std::int64_t kGraphSplits = 32;

IValue none() { return {}; }

IValue optional(const at::Tensor& tensor) { return tensor.defined() ? IValue(tensor) : IValue(); }

}  // namespace

std::int64_t flash_splits(std::int64_t tokens) { return tokens <= kGraphTokens ? kGraphSplits : 0; }

std::vector<at::Tensor> FlashAttention3Library::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                       const Call& call) const {
  const std::vector<IValue> results = forward_({q,
                                                k,
                                                v,
                                                none() /*k_new*/,
                                                none() /*v_new*/,
                                                optional(call.q_latent),
                                                optional(call.out),
                                                call.query_start,
                                                optional(call.key_start),
                                                none() /*cu_seqlens_k_new*/,
                                                none() /*seqused_q*/,
                                                optional(call.lengths),
                                                call.max_query,
                                                call.max_key,
                                                optional(call.block_table),
                                                none() /*kv_batch_idx*/,
                                                none() /*leftpad_k*/,
                                                none() /*rotary_cos*/,
                                                none() /*rotary_sin*/,
                                                none() /*seqlens_rotary*/,
                                                none() /*q_descale*/,
                                                none() /*k_descale*/,
                                                none() /*v_descale*/,
                                                call.scale,
                                                call.causal,
                                                call.window_left,
                                                call.window_right,
                                                call.soft_cap,
                                                true /*rotary_interleaved*/,
                                                optional(call.schedule),
                                                call.splits,
                                                none() /*pack_gqa*/,
                                                std::int64_t{0} /*sm_margin*/,
                                                none() /*s_aux*/,
                                                std::int64_t{1} /*cp_world_size*/,
                                                std::int64_t{0} /*cp_rank*/,
                                                none() /*cp_tot_seqused_k*/});
  if (results.size() == 1 && results.front().isTensorList()) return results.front().toTensorVector();
  std::vector<at::Tensor> tensors;
  for (const IValue& result : results)
    if (result.isTensor()) tensors.push_back(result.toTensor());
  return tensors;
}

at::Tensor FlashAttention3Library::schedule(const AttentionMetadata& metadata, const Heads& heads, at::ScalarType type,
                                            std::int64_t block_size, std::int64_t window_left,
                                            std::int64_t window_right) const {
  return schedule_({metadata.sequence_lengths.size(0),
                    metadata.max_query,
                    metadata.max_sequence,
                    heads.query,
                    heads.kv,
                    heads.width,
                    heads.value_width,
                    type,
                    metadata.sequence_lengths,
                    metadata.query_start,
                    none() /*cu_seqlens_k*/,
                    none() /*cu_seqlens_k_new*/,
                    none() /*seqused_q*/,
                    none() /*leftpad_k*/,
                    block_size,
                    std::int64_t{0} /*max_seqlen_k_new*/,
                    true /*causal*/,
                    window_left,
                    window_right,
                    false /*has_softcap*/,
                    flash_splits(metadata.slot_mapping.size(0)),
                    none() /*pack_gqa*/,
                    std::int64_t{0} /*sm_margin*/})
      .at(0)
      .toTensor();
}

}  // namespace dooly::profiling
