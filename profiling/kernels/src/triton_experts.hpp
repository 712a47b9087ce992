#pragma once

#include "cuda_driver.hpp"
#include "vllm_library.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dooly::profiling {

/// vLLM's fused experts: its Triton kernel, compiled ahead of time by scripts/triton-experts, around the sorting,
/// activation and sum of its C++ libraries. Steps and choices follow fused_experts_impl of vLLM 0.26 (bfloat16, no
/// quantisation, all experts on this GPU).
class TritonExperts {
 public:
  /// `folder` holds experts.json and the compiled kernels. Throws ProfilingError naming what is missing or wrong.
  explicit TritonExperts(const std::string& folder);
  ~TritonExperts();

  /// The operator dooly::triton_fused_experts with the kernels of `folder`, which are loaded once: a tracer sees one
  /// call, as of any other library's operator, and can repeat it.
  static at::Tensor call(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down,
                         const at::Tensor& weights, const at::Tensor& ids, const std::string& folder);

  /// x [T, H], gate_up [E, 2*I, H], down [E, H, I], weights float32 [T, k], ids int32 [T, k] -> [T, H]. Throws
  /// ProfilingError for a shape that was not compiled, naming it.
  at::Tensor run(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down, const at::Tensor& weights,
                 const at::Tensor& ids);

 private:
  struct Assignment;
  struct Config;
  struct Shape;

  const Config& config_for(const at::Tensor& gate_up, std::int64_t top_k, std::int64_t tokens) const;
  Assignment assign(const at::Tensor& ids, std::int64_t block_m, std::int64_t experts);
  void launch(const CompiledKernel& kernel, const Config& config, const at::Tensor& rows,
              const at::Tensor& expert_weights, at::Tensor& out, const at::Tensor& routing,
              const Assignment& assignment, std::int64_t valid_rows);

  CudaDriver driver_;
  std::map<std::vector<std::int64_t>, Shape> shapes_;  ///< by experts, width, hidden, top_k
  VllmOperator align_{"_moe_C::moe_align_block_size"}, silu_and_mul_{"_C::silu_and_mul"}, sum_{"_moe_C::moe_sum"};
};

}  // namespace dooly::profiling
