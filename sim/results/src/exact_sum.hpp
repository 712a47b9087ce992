#pragma once

#include <bit>
#include <cstdint>

namespace dooly::results {

__extension__ using Fixed128 = unsigned __int128;

/// Sum of non-negative numbers times whole weights in fixed point (2^-75), so that it does not depend on the order of
/// adding. Numbers from 2^-22 up are added exactly, smaller ones to 2^-75. The total must stay below 2^52.
class ExactSum {
 public:
  void add(double value, std::uint64_t weight = 1) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto biased = static_cast<int>(bits >> 52);
    if (biased == 0) return;  // zero, or far below the resolution
    const std::uint64_t mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    const int shift = biased - 1075 + kFraction;
    const Fixed128 product = static_cast<Fixed128>(mantissa) * weight;
    if (shift >= 0)
      total_ += product << shift;
    else if (shift > -128)
      total_ += product >> -shift;
  }
  void merge(const ExactSum& other) { total_ += other.total_; }
  double value() const { return static_cast<double>(total_) * 0x1p-75; }

 private:
  static constexpr int kFraction = 75;
  Fixed128 total_ = 0;
};

}  // namespace dooly::results
