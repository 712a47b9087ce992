#include "operator_cases.hpp"

namespace dooly::profiling {

namespace {

using Cases = std::vector<OperatorCase>;

// Operators of the `torch` kernels, which run here.
const Cases kOwn = {
    {"dooly::paged_attention",
     "q=[T,N*K,D] k_cache=[B,S,K,D] v_cache=[B,S,K,D] query_start=[2]:int sequence_lengths=[1]:int "
     "block_table=[1,B]:int heads=N*K kv_heads=K head_dim=D scale=0.5 window=0 soft_cap=0.0"},
    {"dooly::fused_experts",
     "x=[T,I] gate_up=[E,2*D,I] down=[E,I,D] weights=[T,num_experts_per_token] ids=[T,num_experts_per_token]:int"},
    {"dooly::topk_softmax", "logits=[T,E] top_k=num_experts_per_token renormalise=true"},
    {"dooly::topk_softmax", "logits=[T,E] top_k=1 renormalise=true"},
    {"dooly::topk_softmax", "logits=[T,9] top_k=4 renormalise=true", 2},
    {"dooly::gated_activation", "x=[T,2*I] kind='silu_and_mul'"},
    {"dooly::greedy_sample", "logits=[T,I]"},
    {"dooly::all_gather", "x=[T,I] ranks=tensor_parallel"},
    {"dooly::add_terms", "terms={[T,I];[T,I]}"},
    {"dooly::sigmoid_mul", "gate=[T,1] x=[T,I]"},
    {"dooly::soft_cap", "x=[T,I] cap=30.0"},
    {"dooly::add_rms_norm_", "x=[T,I] residual=[T,I] weight=[I] epsilon=0.1"},
    {"dooly::rope_", "positions=[T]:long q=[T,N*4*D] k=[T,K*4*D] cos_sin=[40,4*D] head_dim=4*D interleaved=false"},
    {"dooly::write_kv_", "k=[T,K,D] v=[T,K,D] k_cache=[B,S,K,D] v_cache=[B,S,K,D] slot_mapping=[T]:long"},
    {"dooly::all_reduce_", "x=[T,I] ranks=2"},
    {"dooly::write_latent_", "latent=[T,I] k_rope=[T,D] cache=[B,S,I+D] slot_mapping=[T]:long"},
    {"dooly::latent_attention",
     "q_latent=[T,N,I] q_rope=[T,N,D] cache=[B,S,I+D] query_start=[2]:int sequence_lengths=[1]:int "
     "block_table=[1,B]:int scale=0.5"},
    {"dooly::expanded_attention",
     "q=[T,N,I+D] kv=[R,N,I+K] k_rope=[R,D] query_start=[2]:int key_start=[2]:int max_seqlen_q=T max_seqlen_k=R "
     "scale=0.5 causal=false"},
    {"dooly::gather_latent", "cache=[B,S,I+D] block_table=[2,T]:int first=[2]:int key_start=[3]:int prompt_of=[T]:int"},
    {"dooly::ignore_empty_", "out=[T,N,I] lse=[N,T] query_start=[2]:int key_start=[2]:int"},
    {"dooly::merge_attention_",
     "out=[T,N,I] lse=[N,T] first=[T,N,I] first_lse=[N,T] second=[T,N,I] second_lse=[N,T] merged_tokens=T"},
};

// Operators that need a GPU: their schemas (vLLM 0.26.0's, and those of profiling/kernels) and results as they give.
const Cases kOfGpus = {
    {"dooly::triton_fused_experts(Tensor x, Tensor gate_up, Tensor down, Tensor weights, Tensor ids, str folder) -> "
     "Tensor",
     "x=[T,I] gate_up=[E,2*D,I] down=[E,I,D] weights=[T,K] ids=[T,K]:int folder=''", 0, "[T,I]"},
    {"dooly::triton_attention(Tensor q, Tensor k, Tensor v, Tensor query_start, Tensor sequence_lengths, Tensor "
     "block_table, int max_seqlen_q, float softmax_scale, int window_size_left, int window_size_right, float softcap, "
     "str "
     "folder) -> Tensor",
     "q=[T,N,D] k=[B,S,K,D] v=[B,S,K,D] query_start=[R+1]:int sequence_lengths=[R]:int block_table=[R,B]:int "
     "max_seqlen_q=T softmax_scale=0.5 window_size_left=-1 window_size_right=0 softcap=0.0 folder=''",
     0, "[T,N,D]"},
    {"dooly::flashinfer_attention(Tensor q, Tensor k, Tensor v, Tensor schedule, float softmax_scale, int "
     "window_size_left, int window_size_right, float softcap, str folder) -> Tensor",
     "q=[T,N,D] k=[B,S,K,D] v=[B,S,K,D] schedule=[99]:int softmax_scale=0.5 window_size_left=-1 window_size_right=0 "
     "softcap=0.0 folder=''",
     0, "[T,N,D]"},
    {"_vllm_fa3_C::fwd(Tensor! q, Tensor k, Tensor v, Tensor? k_new, Tensor? v_new, Tensor? q_v, Tensor!? out, Tensor? "
     "cu_seqlens_q, Tensor? cu_seqlens_k, Tensor? cu_seqlens_k_new, Tensor? seqused_q, Tensor? seqused_k, int? "
     "max_seqlen_q, int? max_seqlen_k, Tensor? page_table, Tensor? kv_batch_idx, Tensor? leftpad_k, Tensor? "
     "rotary_cos, Tensor? rotary_sin, Tensor? seqlens_rotary, Tensor? q_descale, Tensor? k_descale, Tensor? v_descale, "
     "float softmax_scale, bool is_causal, int window_size_left, int window_size_right, float softcap, bool "
     "is_rotary_interleaved, Tensor? scheduler_metadata, int num_splits, bool? pack_gqa, int sm_margin, Tensor? s_aux, "
     "int cp_world_size, int cp_rank, Tensor? cp_tot_seqused_k) -> Tensor[]",
     "q=[T,N,D] k=[B,S,K,D] v=[B,S,K,I] cu_seqlens_q=[R+1]:int seqused_k=[R]:int max_seqlen_q=T max_seqlen_k=T "
     "page_table=[R,B]:int softmax_scale=0.5 is_causal=true window_size_left=-1 window_size_right=0 softcap=0.0 "
     "is_rotary_interleaved=false num_splits=1 sm_margin=0 cp_world_size=1 cp_rank=0",
     0, "[T,N,I];[N,T];[0];[0]"},
    {"_vllm_fa2_C::varlen_fwd(Tensor! q, Tensor k, Tensor v, Tensor!? out, Tensor cu_seqlens_q, Tensor cu_seqlens_k, "
     "Tensor? seqused_k, Tensor? leftpad_k, Tensor? block_table, Tensor? alibi_slopes, int max_seqlen_q, int "
     "max_seqlen_k, float p_dropout, float softmax_scale, bool zero_tensors, bool is_causal, int window_size_left, int "
     "window_size_right, float softcap, bool return_softmax, int num_splits, Generator? gen) -> Tensor[]",
     "q=[T,N,D] k=[B,S,K,D] v=[B,S,K,D] out=[T,N,D]? cu_seqlens_q=[R+1]:int cu_seqlens_k=[R+1]:int seqused_k=[R]:int "
     "block_table=[R,B]:int max_seqlen_q=T max_seqlen_k=T p_dropout=0.0 softmax_scale=0.5 zero_tensors=false "
     "is_causal=true window_size_left=-1 window_size_right=0 softcap=0.0 return_softmax=false num_splits=0",
     0, "[T,N,D];[N,T]"},
    {"_vllm_fa3_C::get_scheduler_metadata(int batch_size, int max_seqlen_q, int max_seqlen_k, int num_heads, int "
     "num_heads_k, int headdim, int headdim_v, ScalarType qkv_dtype, Tensor seqused_k, Tensor? cu_seqlens_q, Tensor? "
     "cu_seqlens_k, Tensor? cu_seqlens_k_new, Tensor? seqused_q, Tensor? leftpad_k, int? page_size, int "
     "max_seqlen_k_new, bool is_causal, int window_size_left, int window_size_right, bool has_softcap, int num_splits, "
     "bool? pack_gqa, int sm_margin) -> Tensor",
     "batch_size=R max_seqlen_q=T max_seqlen_k=T num_heads=N num_heads_k=K headdim=D headdim_v=D qkv_dtype=bf16 "
     "seqused_k=[R]:int max_seqlen_k_new=0 is_causal=true window_size_left=-1 window_size_right=0 has_softcap=false "
     "num_splits=0 sm_margin=0",
     1, "[4*R+1]"},
    {"_C::rms_norm(Tensor! result, Tensor input, Tensor? weight, float epsilon) -> ()",
     "result=[T,I]? input=[T,I] weight=[I] epsilon=0.1"},
    {"_C::fused_add_rms_norm(Tensor! input, Tensor! residual, Tensor? weight, float epsilon) -> ()",
     "input=[T,I] residual=[T,I] weight=[I] epsilon=0.1"},
    {"_C::silu_and_mul(Tensor! result, Tensor input) -> ()", "result=[T,I]? input=[T,2*I]"},
    {"_C::gelu_and_mul(Tensor! out, Tensor input) -> ()", "out=[T,I]? input=[T,2*I]"},
    {"_C::gelu_tanh_and_mul(Tensor! out, Tensor input) -> ()", "out=[T,I]? input=[T,2*I]"},
    {"_C::rotary_embedding(Tensor positions, Tensor! query, Tensor!? key, int head_size, Tensor cos_sin_cache, bool "
     "is_neox, int rope_dim_offset=0, bool inverse=False) -> ()",
     "positions=[T]:long query=[T,N*D] key=[T,K*D] head_size=D cos_sin_cache=[99,D] is_neox=true"},
    {"_C_cache_ops::reshape_and_cache(Tensor key, Tensor value, Tensor! key_cache, Tensor! value_cache, Tensor "
     "slot_mapping, str kv_cache_dtype, Tensor k_scale, Tensor v_scale) -> ()",
     "key=[T,K,D] value=[T,K,D] key_cache=[B,K,D,S,1] value_cache=[B,K,D,S] slot_mapping=[T]:long "
     "kv_cache_dtype='auto' k_scale=[] v_scale=[]"},
    {"_C_cache_ops::reshape_and_cache_flash(Tensor key, Tensor value, Tensor! key_cache, Tensor! value_cache, Tensor "
     "slot_mapping, str kv_cache_dtype, Tensor k_scale, Tensor v_scale) -> ()",
     "key=[T,K,D] value=[T,K,D] key_cache=[B,S,K,D] value_cache=[B,S,K,D] slot_mapping=[T]:long "
     "kv_cache_dtype='auto' k_scale=[] v_scale=[]"},
    {"_C_cache_ops::concat_and_cache_mla(Tensor kv_c, Tensor k_pe, Tensor! kv_cache, Tensor slot_mapping, str "
     "kv_cache_dtype, Tensor scale) -> ()",
     "kv_c=[T,I] k_pe=[T,D] kv_cache=[B,S,I+D] slot_mapping=[T]:long kv_cache_dtype='auto' scale=[]"},
    {"_C_cache_ops::gather_and_maybe_dequant_cache(Tensor src_cache, Tensor! dst, Tensor block_table, Tensor "
     "cu_seq_lens, Tensor token_to_seq, int num_tokens, str kv_cache_dtype, Tensor scale, Tensor? seq_starts) -> ()",
     "src_cache=[B,S,I+D] dst=[T,I+D]? block_table=[R,B]:int cu_seq_lens=[R+1]:int token_to_seq=[T]:int num_tokens=T "
     "kv_cache_dtype='auto' scale=[] seq_starts=[R]:int"},
    {"_C::merge_attn_states(Tensor! output, Tensor!? output_lse, Tensor prefix_output, Tensor prefix_lse, Tensor "
     "suffix_output, Tensor suffix_lse, int? prefill_tokens_with_context, Tensor? output_scale=None) -> ()",
     "output=[T,N,I] output_lse=[N,T] prefix_output=[T,N,I] prefix_lse=[N,T] suffix_output=[T,N,I] suffix_lse=[N,T] "
     "prefill_tokens_with_context=T"},
    {"dooly::flash_expanded_attention(Tensor q, Tensor kv, Tensor k_rope, Tensor query_start, Tensor key_start, int "
     "max_seqlen_q, int max_seqlen_k, float scale, bool causal) -> Tensor[]",
     "q=[T,N,I+D] kv=[R,N,I+K] k_rope=[R,D] query_start=[2]:int key_start=[2]:int max_seqlen_q=T max_seqlen_k=R "
     "scale=0.5 causal=false",
     0, "[T,N,K];[N,T]"},
    {"_moe_C::topk_softmax(Tensor! topk_weights, Tensor! topk_indices, Tensor! token_expert_indices, Tensor "
     "gating_output, bool renormalize, Tensor? bias) -> ()",
     "topk_weights=[T,num_experts_per_token]? topk_indices=[T,num_experts_per_token]?:int "
     "token_expert_indices=[T,num_experts_per_token]?:int gating_output=[T,E] renormalize=true"},
    {"_moe_C::moe_align_block_size(Tensor topk_ids, int num_experts, int block_size, Tensor! sorted_token_ids, Tensor! "
     "experts_ids, Tensor! num_tokens_post_pad, Tensor? maybe_expert_map) -> ()",
     "topk_ids=[T,K]:int num_experts=E block_size=16 sorted_token_ids=[T*K+15*E]:int experts_ids=[T+E]:int "
     "num_tokens_post_pad=[1]:int"},
    {"_moe_C::moe_sum(Tensor input, Tensor! output, Tensor? topk_ids=None, Tensor? expert_map=None) -> ()",
     "input=[T,K,I] output=[T,I]"},
};

}  // namespace

const std::vector<OperatorCase>& library_cases() {
  static const Cases all = [] {
    Cases both = kOwn;
    both.insert(both.end(), kOfGpus.begin(), kOfGpus.end());
    return both;
  }();
  return all;
}

}  // namespace dooly::profiling
