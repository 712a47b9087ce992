#pragma once

#include "../flashinfer/flashinfer_calls.h"

#include <cstdint>
#include <string>

namespace dooly::profiling {

/// libdooly_flashinfer.so, loaded for the life of the process.
class FlashInferLibrary {
 public:
  /// Throws ProfilingError naming what is missing.
  explicit FlashInferLibrary(const std::string& folder);

  /// Of the wheel that the kernels were compiled from; "unknown" of a library that does not say.
  std::string version() const;
  DoolyFlashInferPlan plan_decode() const { return plan_decode_; }
  DoolyFlashInferPlan plan_prefill() const { return plan_prefill_; }
  /// Null: not compiled.
  DoolyFlashInferLaunch decode(std::int64_t head_dim, bool has_soft_cap) const;
  DoolyFlashInferLaunch prefill(std::int64_t head_dim, bool has_soft_cap) const;

 private:
  DoolyFlashInferLaunch variant(const char* phase, std::int64_t head_dim, bool has_soft_cap) const;

  void* library_ = nullptr;
  DoolyFlashInferPlan plan_decode_ = nullptr, plan_prefill_ = nullptr;
};

}  // namespace dooly::profiling
