// Prompts and chunks of them, causal, by the Hopper kernels. Compiled for each DOOLY_HEAD_DIM and DOOLY_SOFT_CAP.
#include "run_reading.h"

#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
#include <flashinfer/attention/mask.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/cutlass_utils.cuh>

#include <cuda_bf16.h>

namespace {

using Number = flashinfer::cutlass_dtype_t<__nv_bfloat16>;

/// What the kernels read; the names are theirs.
struct Params {
  using DTypeQ = Number;
  using DTypeKV = Number;
  using DTypeO = Number;
  using IdType = int32_t;

  Number *q_ptr = nullptr, *k_ptr = nullptr, *v_ptr = nullptr, *o_ptr = nullptr;
  float* lse_ptr = nullptr;
  int32_t *qo_tile_indices = nullptr, *qo_indptr = nullptr, *kv_indptr = nullptr, *kv_indices = nullptr,
          *qo_lens = nullptr, *kv_lens = nullptr, *head_indices = nullptr, *work_indptr = nullptr,
          *batch_indices = nullptr;

  struct AdditionalParams {
    uint32_t* maybe_prefix_len_ptr = nullptr;
    uint16_t* maybe_token_pos_in_items_ptr = nullptr;
    uint16_t* maybe_max_item_len_ptr = nullptr;
    float* maybe_scale_v = nullptr;
    double logits_soft_cap = 0, sm_scale = 0, scale_v_scalar = 1;
    int64_t token_pos_in_items_len = 0;
  } additional_params;

  int64_t q_stride_n = 0, k_stride_n = 0, v_stride_n = 0, o_stride_n = 0;
  int64_t q_stride_h = 0, k_stride_h = 0, v_stride_h = 0, o_stride_h = 0;
  int64_t nnz_qo = 0;
  int64_t k_page_stride = 0, v_page_stride = 0;
  int head_dim = DOOLY_HEAD_DIM, num_qo_heads = 0, num_kv_heads = 0, group_size = 0, page_size = 0, window_left = -1;
  bool causal = true;
};

Params params_of(const DoolyFlashInferRun& run) {
  Params params;
  params.q_ptr = static_cast<Number*>(run.q);
  params.k_ptr = static_cast<Number*>(run.k_cache);
  params.v_ptr = static_cast<Number*>(run.v_cache);
  params.o_ptr = static_cast<Number*>(run.out);
  params.q_stride_n = run.q_stride;
  params.q_stride_h = run.q_head_stride;
  params.o_stride_n = run.out_stride;
  params.o_stride_h = run.out_head_stride;
  params.k_stride_n = params.v_stride_n = run.token_stride;
  params.k_stride_h = params.v_stride_h = run.head_stride;
  params.k_page_stride = params.v_page_stride = run.page_stride;
  params.nnz_qo = run.tokens;
  params.num_qo_heads = static_cast<int>(run.heads);
  params.num_kv_heads = static_cast<int>(run.kv_heads);
  params.group_size = static_cast<int>(run.heads / run.kv_heads);
  params.page_size = static_cast<int>(run.page_size);
  params.kv_indices = run.pages;
  params.additional_params.sm_scale = run.scale;
  params.additional_params.logits_soft_cap = run.soft_cap;
  return params;
}

void place(const DoolyFlashInferRun& run, const flashinfer::PrefillPlanSM90Info& plan, Params& params) {
  const auto at = [&](int64_t offset) { return dooly::at<int32_t>(run.int_space, offset); };
  params.qo_tile_indices = at(plan.qo_tile_indices_offset);
  params.qo_indptr = at(plan.qo_indptr_offset);
  params.kv_indptr = at(plan.kv_indptr_offset);
  params.qo_lens = at(plan.qo_len_offset);
  params.kv_lens = at(plan.kv_len_offset);
  params.head_indices = at(plan.head_indices_offset);
  params.work_indptr = at(plan.work_indptr_offset);
  params.batch_indices = at(plan.batch_indices_offset);
}

template <bool kSameForAllHeads>
cudaError_t launch(const DoolyFlashInferRun& run, Params& params) {
  return flashinfer::BatchPrefillWithPagedKVCacheDispatched<
      DOOLY_HEAD_DIM, DOOLY_HEAD_DIM, flashinfer::MaskMode::kCausal, /*LEFT_SLIDING_WINDOW=*/false, kSameForAllHeads,
      flashinfer::DefaultAttention<DOOLY_SOFT_CAP != 0>, Params>(params, /*enable_pdl=*/true,
                                                                 static_cast<cudaStream_t>(run.stream));
}

int prefill(const DoolyFlashInferRun& run) {
  constexpr int kNumbers = 9;
  const auto plan = dooly::plan_of<flashinfer::PrefillPlanSM90Info, kNumbers>(run);
  Params params = params_of(run);
  place(run, plan, params);
  return plan.same_schedule_for_all_heads ? launch<true>(run, params) : launch<false>(run, params);
}

}  // namespace

DOOLY_FLASHINFER_VARIANT(prefill, prefill)
