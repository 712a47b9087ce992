// What scripts/flashinfer-kernels compiles, with neither kernels nor a GPU.
#include "../../profiling/kernels/flashinfer/flashinfer_calls.h"

extern "C" {

DOOLY_FLASHINFER_DOOR int dooly_flashinfer_plan_decode(DoolyFlashInferPlanning*, char*, int64_t) { return 0; }
DOOLY_FLASHINFER_DOOR int dooly_flashinfer_plan_prefill(DoolyFlashInferPlanning*, char*, int64_t) { return 0; }
#ifdef FAKE_VERSION
DOOLY_FLASHINFER_DOOR const char* dooly_flashinfer_version(void) { return FAKE_VERSION; }
#endif

}  // extern "C"
