#pragma once

#include <stdint.h>

/// What the shared library made by scripts/flashinfer-kernels offers: FlashInfer's attention over a paged cache,
/// planned on the host and run on a stream, as plain C. Its functions are looked up by name; a variant that was not
/// compiled is not there. All pointers are to device memory unless they are said to be the host's.

#ifdef __cplusplus
extern "C" {
#endif

#define DOOLY_FLASHINFER_DOOR __attribute__((visibility("default")))

enum { kDoolyFlashInferPlanNumbers = 16 };

/// Requests that are planned together, and where their work is to lie.
typedef struct DoolyFlashInferPlanning {
  const int32_t* query_start;    ///< host, [requests + 1], from 0
  const int32_t* page_start;     ///< host, [requests + 1]: the first page of each in the list of pages, from 0
  const int32_t* lengths;        ///< host, [requests]: tokens in the cache
  int64_t requests, heads, kv_heads, head_dim, page_size;
  int32_t captured;              ///< the step is to be captured in a CUDA graph: the grid is that of the largest
  void *float_space, *int_space; ///< scratch of the kernels
  void* int_staging;             ///< host, of int_bytes
  int64_t float_bytes, int_bytes;
  void* stream;
  int64_t numbers[kDoolyFlashInferPlanNumbers];  ///< result: what a run is to be handed
} DoolyFlashInferPlanning;

/// One launch.
typedef struct DoolyFlashInferRun {
  void *q, *out;             ///< bfloat16 [tokens, heads, head_dim]; of the first token of these requests
  void *k_cache, *v_cache;   ///< bfloat16 [pages, page_size, kv_heads, head_dim], of equal strides
  int32_t *query_start, *page_start, *pages, *last_page_tokens;
  int64_t tokens, requests, heads, kv_heads, page_size;
  int64_t q_stride, q_head_stride, out_stride, out_head_stride;  ///< in numbers, as all strides here
  int64_t page_stride, token_stride, head_stride;                ///< of both caches
  double scale, soft_cap;
  void *float_space, *int_space;
  const int64_t* numbers;    ///< of the plan
  void* stream;
} DoolyFlashInferRun;

/// 0, or the CUDA error; -1: the library refuses, and `why` (host, of that size) says so.
typedef int (*DoolyFlashInferPlan)(DoolyFlashInferPlanning* planning, char* why, int64_t size);
typedef int (*DoolyFlashInferLaunch)(const DoolyFlashInferRun* run, char* why, int64_t size);

/// Of the wheel whose headers were compiled.
typedef const char* (*DoolyFlashInferVersion)(void);

/// Names to look up: dooly_flashinfer_version, dooly_flashinfer_plan_decode and ..._plan_prefill, and for
/// each variant dooly_flashinfer_decode_<head_dim>_<0|1> and ..._prefill_<head_dim>_<0|1>, 1: with a soft cap.

#ifdef __cplusplus
}
#endif
