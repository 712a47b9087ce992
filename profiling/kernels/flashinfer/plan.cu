// Splits the work of a step among the multiprocessors, as FlashInfer's wrappers do for the engine: decodes on tensor
// cores by its FA2 kernels, prompts by its Hopper kernels.
#include "flashinfer_calls.h"
#include "guarded.h"

#include <flashinfer/attention/scheduler.cuh>

#include <algorithm>
#include <vector>

namespace {

constexpr uint32_t kOutputBytes = 2;

int32_t* changeable(const int32_t* numbers) { return const_cast<int32_t*>(numbers); }

void keep(const std::vector<int64_t>& numbers, DoolyFlashInferPlanning& planning) {
  std::copy(numbers.begin(), numbers.end(), planning.numbers);
}

int plan_decode(DoolyFlashInferPlanning& p) {
  flashinfer::PrefillPlanInfo info;
  const cudaError_t status = flashinfer::PrefillPlan<int32_t>(
      p.float_space, static_cast<size_t>(p.float_bytes), p.int_space, p.int_staging, static_cast<size_t>(p.int_bytes),
      info, changeable(p.query_start), changeable(p.page_start), static_cast<uint32_t>(p.requests),
      static_cast<uint32_t>(p.requests), static_cast<uint32_t>(p.heads), static_cast<uint32_t>(p.kv_heads),
      static_cast<uint32_t>(p.head_dim), static_cast<uint32_t>(p.head_dim), static_cast<uint32_t>(p.page_size),
      p.captured != 0, kOutputBytes, /*window_left=*/-1, /*fixed_split_size=*/-1, /*disable_split_kv=*/false,
      /*num_colocated_ctas=*/0, static_cast<cudaStream_t>(p.stream));
  keep(info.ToVector(), p);
  return status;
}

int plan_prefill(DoolyFlashInferPlanning& p) {
  flashinfer::PrefillPlanSM90Info info;
  const cudaError_t status = flashinfer::PrefillSM90Plan<int32_t>(
      p.float_space, static_cast<size_t>(p.float_bytes), p.int_space, p.int_staging, static_cast<size_t>(p.int_bytes),
      info, changeable(p.query_start), changeable(p.page_start), changeable(p.lengths),
      static_cast<uint32_t>(p.query_start[p.requests]), static_cast<uint32_t>(p.requests),
      static_cast<uint32_t>(p.heads), static_cast<uint32_t>(p.kv_heads), static_cast<uint32_t>(p.head_dim),
      static_cast<uint32_t>(p.head_dim), static_cast<uint32_t>(p.page_size), /*causal=*/true, p.captured != 0,
      kOutputBytes, static_cast<cudaStream_t>(p.stream));
  keep(info.ToVector(), p);
  return status;
}

}  // namespace

extern "C" {

DOOLY_FLASHINFER_DOOR const char* dooly_flashinfer_version(void) { return DOOLY_FLASHINFER_VERSION; }

DOOLY_FLASHINFER_DOOR int dooly_flashinfer_plan_decode(DoolyFlashInferPlanning* planning, char* why, int64_t size) {
  return dooly::guarded([&] { return plan_decode(*planning); }, why, size);
}

DOOLY_FLASHINFER_DOOR int dooly_flashinfer_plan_prefill(DoolyFlashInferPlanning* planning, char* why, int64_t size) {
  return dooly::guarded([&] { return plan_prefill(*planning); }, why, size);
}

}  // extern "C"
