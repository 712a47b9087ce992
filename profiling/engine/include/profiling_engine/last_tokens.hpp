#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

namespace dooly::profiling {

/// The token that each request sampled last, on the device, where the next step reads it before the host has.
class LastTokens {
 public:
  LastTokens(std::int64_t tags, c10::Device device);
  /// Puts tokens of requests `from` at `places` of a step's ids; all int64.
  void read(at::Tensor ids, const at::Tensor& places, const at::Tensor& from) const;
  void keep(const at::Tensor& tags, const at::Tensor& sampled);

 private:
  at::Tensor last_;  ///< int64 [tags]
};

}  // namespace dooly::profiling
