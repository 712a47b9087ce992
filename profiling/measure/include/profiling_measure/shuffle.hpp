#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace dooly::profiling {

/// 0 … count - 1 in an order that is the same everywhere (std::shuffle is not).
template <typename Integer>
std::vector<Integer> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<Integer> order(count);
  std::iota(order.begin(), order.end(), Integer{0});
  std::mt19937_64 random(seed);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[random() % i]);
  }
  return order;
}

}  // namespace dooly::profiling
