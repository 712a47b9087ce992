#include "needs.hpp"

#include "documentation.hpp"

#include "profiling_measure/gpu_check.hpp"

#include <fmt/format.h>

namespace dooly::profiling {

void need_gpu(std::string_view instead) {
  const std::string why = why_no_gpu();
  if (!why.empty()) throw cli::UsageError(fmt::format("no NVIDIA GPU found: {}; {}", why, instead));
}

cli::UsageError built_without_torch(std::string_view so) {
  return cli::UsageError(
      fmt::format("this dooly-profile was built without LibTorch: {}. Build it with -DDOOLY_PROFILING=ON; see {}", so,
                  cli::documentation("profiling.md")));
}

}  // namespace dooly::profiling
