#include "workload/random_stream.hpp"

#include "workload/exact_math.hpp"

#include <cmath>

namespace dooly::workload {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::uint64_t hash_name(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return mix(hash);
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index) {
  std::uint64_t key = mix(mix(seed) ^ hash_name(name)) ^ mix(index + 0x632BE59BD9B4E019ULL);
  for (std::uint64_t& word : state_) {
    word = mix(key);
    key += 0x9E3779B97F4A7C15ULL;
  }
}

// Lemire 2019: the high half of bits * n, redrawn in the few cases that would favour some results.
std::uint64_t RandomStream::below(std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(bits()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t threshold = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(bits()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double RandomStream::exponential() { return -exact_log(positive_unit()); }

// Marsaglia's polar method: logarithm and square root (exact in IEEE 754) only. Its second value is dropped, so that a
// stream's state is its four words alone.
double RandomStream::normal() {
  for (;;) {
    const double x = 2 * unit() - 1;
    const double y = 2 * unit() - 1;
    const double s = x * x + y * y;
    if (s < 1 && s > 1e-300) return x * std::sqrt(-2 * exact_log(s) / s);
  }
}

// Marsaglia and Tsang 2000; below shape 1 by gamma(shape + 1) U^(1 / shape).
double RandomStream::gamma(double shape) {
  if (shape < 1) {
    const double boost = exact_log(positive_unit()) / shape;
    return gamma(shape + 1) * exact_exp(boost);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double log_u = exact_log(positive_unit());
    if (log_u < 0.5 * x * x + d - d * v + d * exact_log(v)) return d * v;
  }
}

double RandomStream::weibull(double shape) {
  const double e = exponential();
  return e > 0 ? exact_exp(exact_log(e) / shape) : 0;
}

}  // namespace dooly::workload
