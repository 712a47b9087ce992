#include "profiling_measure/kernel_family.hpp"

#include <array>
#include <string_view>

namespace dooly::profiling {

namespace {

struct Rule {
  std::string_view part, family;
};

/// In order: the first that any symbol holds decides, so a library's own kernel comes before the helpers around it.
constexpr std::array kRules = {Rule{"FlashAttnFwd", "fa3"},      Rule{"flash_fwd", "fa2"},
                               Rule{"flashinfer", "flashinfer"}, Rule{"fused_moe_kernel", "triton-fused-moe"},
                               Rule{"nvjet", "cublas"},          Rule{"cublas", "cublas"},
                               Rule{"gemv", "cublas"},           Rule{"xmma", "cublas"},
                               Rule{"vllm", "vllm-c"},           Rule{"triton", "triton"},
                               Rule{"cutlass", "cutlass"},       Rule{"at6native", "torch"},
                               Rule{"at::native", "torch"}};

}  // namespace

std::string kernel_family(const std::vector<std::string>& symbols) {
  for (const Rule& rule : kRules) {
    for (const std::string& symbol : symbols) {
      if (symbol.find(rule.part) != std::string::npos) {
        return std::string(rule.family);
      }
    }
  }
  return {};
}

}  // namespace dooly::profiling
