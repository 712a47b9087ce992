#pragma once

#include "cuda_driver.hpp"
#include "profiling_kernels/kernels.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dooly::profiling {

/// What torch.compile makes of norms of queries and keys in vLLM 0.26, compiled ahead of time by scripts/triton-norms:
/// one launch for both, which leaves the sum of squares of each head. Of several block sizes that is taken which is
/// fastest with the tokens that the script was told, as Inductor chooses: once, in the first and largest step.
class TritonNorms {
 public:
  /// `folder` holds norms.json and the compiled kernels. Throws ProfilingError naming what is missing or wrong.
  explicit TritonNorms(const std::string& folder);

  /// Times the candidates of a shape where that has not been done; says which was taken. Throws ProfilingError for a
  /// shape that was not compiled. Not while a CUDA graph is captured.
  std::string choose(const HeadShape& shape);

  /// qkv bfloat16 [T, (N + 2*K)*D], contiguous -> float32 [T, N] and [T, K].
  std::pair<at::Tensor, at::Tensor> run(const at::Tensor& qkv, const HeadShape& shape);

  /// The same for the kernels of `folder`, which are loaded once; call() is the operator dooly::triton_norms.
  static std::string choose(const HeadShape& shape, const std::string& folder);
  static std::pair<at::Tensor, at::Tensor> call(const at::Tensor& qkv, const HeadShape& shape,
                                                const std::string& folder);

 private:
  struct Candidate {
    CompiledKernel kernel;
    std::int64_t x_block = 0, r_block = 0;
  };
  struct Variant {
    std::vector<Candidate> candidates;
    const Candidate* chosen = nullptr;
  };
  struct Step;

  Variant& variant_of(const HeadShape& shape);
  Variant& chosen_of(const HeadShape& shape);
  void launch(const Candidate& candidate, const Step& step) const;
  double milliseconds(const Candidate& candidate, const Step& step) const;

  CudaDriver driver_;
  std::int64_t tokens_ = 0;  ///< of the step in which candidates are timed
  std::map<std::vector<std::int64_t>, Variant> variants_;  ///< by heads, KV heads, head size
};

}  // namespace dooly::profiling
