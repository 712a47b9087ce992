#pragma once

#include <bit>
#include <cstdint>

namespace dooly::oracle {

// Counts are doubles: quotients of whole numbers of this size are exact where they are whole, and divide faster. They
// are rounded without branches, which nothing could foresee: beside 2^52 a double has no bits for a fraction.

namespace rounding {
constexpr double kNoFraction = 4503599627370496.0;
inline std::uint64_t is_negative(double x) { return std::bit_cast<std::uint64_t>(x) >> 63; }
}  // namespace rounding

/// To the whole number not above; from 0 to 2^51.
inline double down(double x) {
  const double near = x + rounding::kNoFraction;
  const std::uint64_t over = rounding::is_negative(x - (near - rounding::kNoFraction));
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(near) - over) - rounding::kNoFraction;
}

/// To the whole number not below; from 0 to 2^51.
inline double up(double x) {
  const double near = x + rounding::kNoFraction;
  const std::uint64_t under = rounding::is_negative((near - rounding::kNoFraction) - x);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(near) + under) - rounding::kNoFraction;
}

}  // namespace dooly::oracle
