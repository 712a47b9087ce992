#pragma once

#include <cstdint>
#include <vector>

namespace dooly::profiling {

/// How tokens choose experts: coordinates of a moe point (oracle/sample.hpp).
struct Routing {
  std::uint64_t tokens = 0, experts = 0, top_k = 0;
  std::uint64_t activated = 0;  ///< experts that get tokens at all; 0: as the law has it
  std::uint64_t law = 0;        ///< 0 balanced, 1 power law with exponent 1.01, 2 with 1.2
};

/// Tokens of each expert; adds up to tokens × top_k, none above `tokens`. Under a power law the loads are the quantiles
/// of x^-exponent over [1, 0.8 × tokens], scaled, largest first. Throws ProfilingError for a routing that cannot be.
std::vector<std::uint64_t> expert_loads(const Routing& routing);

/// Expert ids [tokens × top_k], row by row; the experts of a token are distinct. Experts are numbered by a fixed
/// shuffle, so that the loaded ones are not neighbours.
std::vector<std::int32_t> expert_ids(const Routing& routing);

}  // namespace dooly::profiling
