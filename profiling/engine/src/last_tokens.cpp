#include "profiling_engine/last_tokens.hpp"

#include <ATen/ops/zeros.h>

namespace dooly::profiling {

LastTokens::LastTokens(std::int64_t tags, c10::Device device)
    : last_(at::zeros({tags}, at::TensorOptions().dtype(at::kLong).device(device))) {}

void LastTokens::read(at::Tensor ids, const at::Tensor& places, const at::Tensor& from) const {
  if (places.numel() > 0) ids.index_copy_(0, places, last_.index_select(0, from));
}

void LastTokens::keep(const at::Tensor& tags, const at::Tensor& sampled) { last_.index_copy_(0, tags, sampled); }

}  // namespace dooly::profiling
