#pragma once

#include <array>
#include <string_view>

namespace dooly::profiling {

/// Attention back ends that there are kernels of: those of make_vllm_kernels(), and `torch`, LibTorch's own. Plans know
/// more (oracle::plan_backends()).
inline constexpr std::array<std::string_view, 5> kAttentionBackends{"fa3", "fa2", "triton", "flashinfer", "torch"};

}  // namespace dooly::profiling
