#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dooly::workload {

/// An independent stream of random numbers, named: (seed, name, index) always gives the same stream, whatever other
/// streams exist or draw. xoshiro256++ (Blackman, Vigna 2019) seeded by splitmix64. 32 bytes; no two draws share state
/// with another stream. The same numbers on every x86-64 machine.
class RandomStream {
 public:
  RandomStream() : RandomStream(0, {}) {}
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index = 0);

  std::uint64_t bits() {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Uniform in (0, 1], a multiple of 2^-53: safe to take the logarithm of.
  double positive_unit() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }
  /// Uniform in 0 … n-1, without bias. n: at least 1.
  std::uint64_t below(std::uint64_t n);
  /// Mean 1; not clipped.
  double exponential();
  double normal();
  /// Gamma law of scale 1 (mean = shape).
  double gamma(double shape);
  /// Weibull law of scale 1.
  double weibull(double shape);

 private:
  static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<std::uint64_t, 4> state_;
};

/// A 64-bit identity of `text` (FNV-1a, finalised); the same everywhere.
std::uint64_t hash_name(std::string_view text);
/// A bijection with good avalanche (finaliser of splitmix64).
std::uint64_t mix(std::uint64_t x);

}  // namespace dooly::workload
