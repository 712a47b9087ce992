#include "flashinfer_library.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace dooly::profiling {

FlashInferLibrary::FlashInferLibrary(const std::string& folder) {
  const std::string path = folder + "/libdooly_flashinfer.so";
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    throw ProfilingError(fmt::format("FlashInfer: {}; scripts/flashinfer-kernels makes it", dlerror()));
  }
  plan_decode_ = reinterpret_cast<DoolyFlashInferPlan>(dlsym(library_, "dooly_flashinfer_plan_decode"));
  plan_prefill_ = reinterpret_cast<DoolyFlashInferPlan>(dlsym(library_, "dooly_flashinfer_plan_prefill"));
  if (plan_decode_ == nullptr || plan_prefill_ == nullptr) {
    throw ProfilingError(path + ": has not the functions that scripts/flashinfer-kernels compiles");
  }
}

std::string FlashInferLibrary::version() const {
  const auto function = reinterpret_cast<DoolyFlashInferVersion>(dlsym(library_, "dooly_flashinfer_version"));
  return function == nullptr ? "unknown" : function();
}

DoolyFlashInferLaunch FlashInferLibrary::decode(std::int64_t head_dim, bool has_soft_cap) const {
  return variant("decode", head_dim, has_soft_cap);
}

DoolyFlashInferLaunch FlashInferLibrary::prefill(std::int64_t head_dim, bool has_soft_cap) const {
  return variant("prefill", head_dim, has_soft_cap);
}

DoolyFlashInferLaunch FlashInferLibrary::variant(const char* phase, std::int64_t head_dim, bool has_soft_cap) const {
  const std::string name = fmt::format("dooly_flashinfer_{}_{}_{}", phase, head_dim, has_soft_cap ? 1 : 0);
  return reinterpret_cast<DoolyFlashInferLaunch>(dlsym(library_, name.c_str()));
}

}  // namespace dooly::profiling
