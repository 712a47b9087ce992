#pragma once

#include "flashinfer_library.hpp"
#include "profiling_kernels/kernels.hpp"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dooly::profiling {

/// The work of one step, split by FlashInfer: what its kernels are handed beside queries and cache.
class FlashInferPlan {
 public:
  /// Requests of one phase, in the order of the batch.
  struct Part {
    at::Tensor query_start, page_start, pages, last_page_tokens;  ///< int32, on the device
    at::Tensor space;                                             ///< the plan, on the device
    std::array<std::int64_t, kDoolyFlashInferPlanNumbers> numbers{};
    std::int64_t first_token = 0, tokens = 0, requests = 0;
  };

  /// Reads lengths and block tables back from the device. Throws ProfilingError for a batch in which a decode follows a
  /// prompt, and std::runtime_error for what the library refuses.
  FlashInferPlan(const FlashInferLibrary& library, const AttentionMetadata& metadata, const AttentionShape& shape,
                 const at::Tensor& float_space);

  const Part& decodes() const { return decodes_; }
  const Part& prompts() const { return prompts_; }

  /// A tensor that keeps `plan` and says where it is; plan_in() finds it there. Throws ProfilingError for another.
  static at::Tensor wrapped(FlashInferPlan plan);
  static const FlashInferPlan& plan_in(const at::Tensor& tensor);

 private:
  struct Batch;
  Part part(const Batch& batch, std::size_t from, std::size_t to, DoolyFlashInferPlan function, bool is_captured,
            const AttentionShape& shape, const at::Tensor& float_space) const;

  Part decodes_, prompts_;
};

/// Throws what the library answered, unless that is 0.
void check_flashinfer(int status, const char* what, const std::string& why);

}  // namespace dooly::profiling
