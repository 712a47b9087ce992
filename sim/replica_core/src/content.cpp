#include "replica_core/content.hpp"

namespace dooly::replica {
namespace {

/// Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection with good avalanche.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t chain_key(std::uint64_t parent, std::uint32_t parent_end, std::uint64_t segment, std::uint32_t offset) {
  return mix(mix(mix(parent) ^ segment) ^ ((std::uint64_t{parent_end} << 32) | offset));
}

}  // namespace dooly::replica
