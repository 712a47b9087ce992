#include "profiling_measure/kernel_family.hpp"

#include <array>
#include <string_view>

namespace dooly::profiling {

namespace {

struct Rule {
  std::string_view part, family;
};

/// In order: the first that occurs in a symbol decides.
constexpr std::array kRules = {Rule{"FlashAttnFwdSm90", "fa3"},
                               Rule{"FlashAttnFwdCombine", "fa3"},
                               Rule{"prepare_varlen_num_blocks", "fa3"},
                               Rule{"flash_fwd", "fa2"},
                               Rule{"flashinfer", "flashinfer"},
                               Rule{"nvjet", "cublas"},
                               Rule{"cublas", "cublas"},
                               Rule{"gemmk1", "cublas"},
                               Rule{"gemv", "cublas"},
                               Rule{"splitKreduce", "cublas"},
                               Rule{"xmma", "cublas"},
                               Rule{"vllm", "vllm-c"},
                               Rule{"fused_moe_kernel", "triton-fused-moe"},
                               Rule{"triton", "triton"},
                               Rule{"cutlass", "cublas"},
                               Rule{"at6native", "torch"},
                               Rule{"at::native", "torch"}};

std::string_view family_of(std::string_view symbol) {
  for (const Rule& rule : kRules) {
    if (symbol.find(rule.part) != std::string_view::npos) {
      return rule.family;
    }
  }
  return {};
}

}  // namespace

std::string kernel_family(const std::vector<std::string>& symbols) {
  std::string_view own;
  for (const std::string& symbol : symbols) {
    const std::string_view family = family_of(symbol);
    if (!family.empty() && family != "torch") {
      return std::string(family);
    }
    if (!family.empty()) {
      own = family;
    }
  }
  return std::string(own);
}

}  // namespace dooly::profiling
