#include "workload/exact_math.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace dooly::workload {
namespace {

constexpr double kLn2High = 0x1.62e42fee00000p-1;  // its last 21 bits are zero: times an exponent it stays exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kSqrt2 = 0x1.6a09e667f3bcdp+0;

}  // namespace

// x = 2^k m with m in (sqrt(1/2), sqrt 2], f = m - 1, s = f / (2 + f): log m = 2 artanh s = 2s + s R,
// R = 2/3 s^2 + 2/5 s^4 + ..., and 2s = f - s f. |s| < 0.172, so s^22 / 23 < 1e-18.
double exact_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m > kSqrt2) {
    m *= 0.5;
    ++exponent;
  }
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  const double w = z * z;
  // Even and odd terms apart: two short chains instead of a long one.
  const double odd = 2.0 / 3 + w * (2.0 / 7 + w * (2.0 / 11 + w * (2.0 / 15 + w * (2.0 / 19 + w * (2.0 / 23)))));
  const double even = 2.0 / 5 + w * (2.0 / 9 + w * (2.0 / 13 + w * (2.0 / 17 + w * (2.0 / 21))));
  const double r = z * (odd + z * even);
  const double k = exponent;
  return k * kLn2High - ((s * (f - r) - k * kLn2Low) - f);
}

// x = k ln 2 + r with |r| <= 0.35; Taylor to r^13 (the next term is below 5e-18).
double exact_exp(double x) {
  if (x < -708) return 0;
  if (x > 709) return std::numeric_limits<double>::infinity();
  const double scaled = x * kLog2E;
  const int k = static_cast<int>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  const double lost = (high - r) - low;
  constexpr std::array<double, 12> kInverseFactorials = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
      1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2};
  double q = kInverseFactorials[0];
  for (std::size_t i = 1; i < kInverseFactorials.size(); ++i) q = q * r + kInverseFactorials[i];
  const double value = 1 + (r + (r * r * q + lost));
  const auto bits =
      std::bit_cast<std::uint64_t>(value) + (static_cast<std::uint64_t>(static_cast<std::int64_t>(k)) << 52);
  return std::bit_cast<double>(bits);
}

// Stirling's series at x + n >= 16, divided by x (x+1) ... (x+n-1). Abramowitz and Stegun 6.1.41.
double exact_gamma(double x) {
  double product = 1;
  while (x < 16) {
    product *= x;
    x += 1;
  }
  constexpr double kHalfLog2Pi = 0.91893853320467274178;
  const double i = 1 / x;
  const double i2 = i * i;
  const double series = i * (1.0 / 12 - i2 * (1.0 / 360 - i2 * (1.0 / 1260 - i2 * (1.0 / 1680 - i2 / 1188))));
  return exact_exp((x - 0.5) * exact_log(x) - x + kHalfLog2Pi + series) / product;
}

}  // namespace dooly::workload
