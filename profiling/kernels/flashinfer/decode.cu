// One query a request, on tensor cores. Compiled for each DOOLY_HEAD_DIM and DOOLY_SOFT_CAP.
#include "run_reading.h"

#include <flashinfer/attention/mask.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>
#include <flashinfer/page.cuh>

#include <cuda_bf16.h>

namespace {

using dooly::at;
using Number = __nv_bfloat16;

/// What the kernels read; the names are theirs.
struct Params {
  using DTypeQ = Number;
  using DTypeKV = Number;
  using DTypeO = Number;
  using IdType = int32_t;

  Number* q = nullptr;
  flashinfer::paged_kv_t<Number, int32_t> paged_kv;
  int32_t* q_indptr = nullptr;
  Number* o = nullptr;
  float* lse = nullptr;
  flashinfer::uint_fastdiv group_size;

  uint8_t* maybe_custom_mask = nullptr;
  int32_t* maybe_mask_indptr = nullptr;
  float* maybe_alibi_slopes = nullptr;
  uint32_t* maybe_prefix_len_ptr = nullptr;
  uint16_t* maybe_token_pos_in_items_ptr = nullptr;
  uint16_t* maybe_max_item_len_ptr = nullptr;
  uint8_t* maybe_k_cache_sf = nullptr;
  uint8_t* maybe_v_cache_sf = nullptr;
  double logits_soft_cap = 0, sm_scale = 0, rope_rcp_scale = 1, rope_rcp_theta = 1e-4;
  int64_t token_pos_in_items_len = 0;

  uint32_t num_qo_heads = 0;
  int32_t q_stride_n = 0, q_stride_h = 0;
  int32_t window_left = -1;

  int32_t *request_indices = nullptr, *qo_tile_indices = nullptr, *kv_tile_indices = nullptr, *merge_indptr = nullptr,
          *o_indptr = nullptr;
  bool* block_valid_mask = nullptr;
  int32_t* kv_chunk_size_ptr = nullptr;
  uint32_t max_total_num_rows = 0;
  uint32_t* total_num_rows = nullptr;
  uint32_t padded_batch_size = 0;
  bool partition_kv = false;

  __host__ __device__ __forceinline__ uint32_t get_qo_len(uint32_t request) const {
    return static_cast<uint32_t>(q_indptr[request + 1] - q_indptr[request]);
  }
  __host__ __device__ __forceinline__ uint32_t get_kv_len(uint32_t request) const {
    return paged_kv.get_length(static_cast<int32_t>(request));
  }
};

Params params_of(const DoolyFlashInferRun& run) {
  Params params;
  const int64_t strides[] = {run.page_stride, run.token_stride, run.head_stride, 1};
  params.paged_kv = flashinfer::paged_kv_t<Number, int32_t>(
      static_cast<uint32_t>(run.kv_heads), static_cast<uint32_t>(run.page_size), DOOLY_HEAD_DIM,
      static_cast<uint32_t>(run.requests), flashinfer::QKVLayout::kNHD, static_cast<Number*>(run.k_cache),
      static_cast<Number*>(run.v_cache), strides, run.pages, run.page_start, run.last_page_tokens);
  params.q = static_cast<Number*>(run.q);
  params.o = static_cast<Number*>(run.out);
  params.q_indptr = run.query_start;
  params.num_qo_heads = static_cast<uint32_t>(run.heads);
  params.group_size = flashinfer::uint_fastdiv(static_cast<uint32_t>(run.heads / run.kv_heads));
  params.q_stride_n = static_cast<int32_t>(run.q_stride);
  params.q_stride_h = static_cast<int32_t>(run.q_head_stride);
  params.sm_scale = run.scale;
  params.logits_soft_cap = run.soft_cap;
  return params;
}

void place(const DoolyFlashInferRun& run, const flashinfer::PrefillPlanInfo& plan, Params& params) {
  params.request_indices = at<int32_t>(run.int_space, plan.request_indices_offset);
  params.qo_tile_indices = at<int32_t>(run.int_space, plan.qo_tile_indices_offset);
  params.kv_tile_indices = at<int32_t>(run.int_space, plan.kv_tile_indices_offset);
  params.o_indptr = at<int32_t>(run.int_space, plan.o_indptr_offset);
  params.kv_chunk_size_ptr = at<int32_t>(run.int_space, plan.kv_chunk_size_ptr_offset);
  if (plan.split_kv) {
    params.merge_indptr = at<int32_t>(run.int_space, plan.merge_indptr_offset);
    if (plan.enable_cuda_graph) {
      params.block_valid_mask = at<bool>(run.int_space, plan.block_valid_mask_offset);
    }
  }
  if (plan.enable_cuda_graph) {
    params.total_num_rows = at<uint32_t>(run.int_space, plan.total_num_rows_offset);
  }
  params.padded_batch_size = static_cast<uint32_t>(plan.padded_batch_size);
  params.max_total_num_rows = static_cast<uint32_t>(plan.total_num_rows);
}

template <uint32_t kTile>
cudaError_t launch(const DoolyFlashInferRun& run, const flashinfer::PrefillPlanInfo& plan, const Params& params) {
  using Variant = flashinfer::DefaultAttention<false, false, DOOLY_SOFT_CAP != 0, false>;
  Number* partial = plan.split_kv ? at<Number>(run.float_space, plan.v_offset) : nullptr;
  float* sums = plan.split_kv ? at<float>(run.float_space, plan.s_offset) : nullptr;
  return flashinfer::BatchPrefillWithPagedKVCacheDispatched<kTile, DOOLY_HEAD_DIM, DOOLY_HEAD_DIM,
                                                            flashinfer::PosEncodingMode::kNone, false,
                                                            flashinfer::MaskMode::kNone, Variant, Params>(
      params, partial, sums, /*enable_pdl=*/true, static_cast<cudaStream_t>(run.stream));
}

int decode(const DoolyFlashInferRun& run) {
  constexpr int kNumbers = 15;
  const auto plan = dooly::plan_of<flashinfer::PrefillPlanInfo, kNumbers>(run);
  Params params = params_of(run);
  place(run, plan, params);
  // One query: as many rows as query heads share a head of the cache. 16 rows make the small tile, 64 the next.
  return plan.cta_tile_q == 16 ? launch<16>(run, plan, params) : launch<64>(run, plan, params);
}

}  // namespace

DOOLY_FLASHINFER_VARIANT(decode, decode)
