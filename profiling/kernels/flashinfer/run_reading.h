#pragma once

#include "flashinfer_calls.h"
#include "guarded.h"

#include <cstdint>
#include <vector>

/// What decode.cu and prefill.cu share: how a run is read, and the door of a variant. Compiled for each DOOLY_HEAD_DIM
/// and DOOLY_SOFT_CAP.
namespace dooly {

/// The plan that a run was handed; its kind says how many numbers it has.
template <class Plan, int kNumbers>
Plan plan_of(const DoolyFlashInferRun& run) {
  static_assert(kNumbers <= kDoolyFlashInferPlanNumbers, "a run hands over so many");
  Plan plan;
  plan.FromVector(std::vector<int64_t>(run.numbers, run.numbers + kNumbers));
  return plan;
}

/// What lies `offset` bytes behind `base`, as plans say it.
template <class T>
T* at(void* base, int64_t offset) {
  return reinterpret_cast<T*>(static_cast<char*>(base) + offset);
}

}  // namespace dooly

#define DOOLY_JOIN(part, dim, cap) dooly_flashinfer_##part##_##dim##_##cap
#define DOOLY_NAME(part, dim, cap) DOOLY_JOIN(part, dim, cap)

/// The function that is looked up for this variant of `part`; `launch` takes the run and returns a CUDA error.
#define DOOLY_FLASHINFER_VARIANT(part, launch)                                                                   \
  extern "C" DOOLY_FLASHINFER_DOOR int DOOLY_NAME(part, DOOLY_HEAD_DIM, DOOLY_SOFT_CAP)(                         \
      const DoolyFlashInferRun* run, char* why, int64_t size) {                                                  \
    return dooly::guarded([&] { return launch(*run); }, why, size);                                              \
  }
