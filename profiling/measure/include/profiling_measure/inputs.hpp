#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::profiling {

/// Random tensors for operators on one device. Those of the last shape are kept by name, as a sweep asks for the same
/// weights at many points.
class Inputs {
 public:
  using Sizes = std::vector<std::int64_t>;
  /// `cache_bytes`: of the device's last cache, which inputs that a step reads once must exceed.
  Inputs(at::Device device, std::uint64_t cache_bytes) : device_(device), cache_bytes_(cache_bytes) {}

  /// Normally distributed values of that deviation.
  at::Tensor random(const std::string& name, const Sizes& sizes, at::ScalarType type, double deviation = 1);
  at::Tensor integers(const std::vector<std::int64_t>& values) const;  ///< int64
  at::Tensor integers(const std::vector<std::int32_t>& values) const;  ///< int32
  /// Copies of an input of so many bytes that it takes to read it from memory each time, used in turn: together they
  /// are three times the cache.
  std::int64_t copies(double bytes) const;
  /// Copies of an input of so many bytes that a step finds in the cache: together an eighth of it, at most eight.
  std::int64_t cached_copies(double bytes) const;
  /// Forgets everything that was made for another operator.
  void begin(const std::string& operation);
  void clear();
  at::Device device() const { return device_; }

 private:
  at::Device device_;
  std::uint64_t cache_bytes_;
  std::string operation_;
  std::map<std::string, at::Tensor> kept_;
};

/// float16, bfloat16 or float32 as operator keys write them. Throws ProfilingError for another.
at::ScalarType scalar_type(std::string_view dtype);

}  // namespace dooly::profiling
