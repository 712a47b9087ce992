#include "profiling_measure/routing.hpp"

#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/shuffle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dooly::profiling {

namespace {

constexpr std::uint64_t kSeed = 17;
constexpr double kGreatestShare = 0.8;  // of the tokens, for the expert that most of them choose

std::uint64_t experts_in_use(const Routing& routing) {
  const std::uint64_t in_use = routing.activated == 0 ? routing.experts : routing.activated;
  const std::uint64_t choices = routing.tokens * routing.top_k;
  if (in_use > routing.experts || in_use < routing.top_k || (routing.activated > 0 && in_use > choices)) {
    throw ProfilingError(fmt::format("moe point: {} experts cannot be in use by {} tokens that choose {} of {}", in_use,
                                     routing.tokens, routing.top_k, routing.experts));
  }
  return std::min(in_use, choices);
}

/// Relative loads, largest first.
std::vector<double> shares(const Routing& routing, std::uint64_t experts) {
  std::vector<double> result(experts, 1.0);
  if (routing.law == 0) {
    return result;
  }
  const double exponent = routing.law == 1 ? 1.01 : 1.2;
  const double most = std::max(1.0 + 1e-9, kGreatestShare * static_cast<double>(routing.tokens));
  const double power = 1 - exponent;
  for (std::uint64_t i = 0; i < experts; ++i) {  // inverse of the distribution function, at the middles of equal parts
    const double part = 1 - (static_cast<double>(i) + 0.5) / static_cast<double>(experts);
    result[i] = std::pow(part * (std::pow(most, power) - 1) + 1, 1 / power);
  }
  return result;
}

}  // namespace

std::vector<std::uint64_t> expert_loads(const Routing& routing) {
  if (routing.law > 2 || routing.tokens == 0 || routing.top_k == 0) {
    throw ProfilingError(
        fmt::format("moe point: {} tokens with routing {}; allowed: 0, 1, 2", routing.tokens, routing.law));
  }
  const std::uint64_t in_use = experts_in_use(routing);
  const std::vector<double> parts = shares(routing, in_use);
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  const std::uint64_t choices = routing.tokens * routing.top_k;
  const std::uint64_t least = routing.activated > 0 ? 1 : 0;
  std::vector<std::uint64_t> loads(routing.experts, 0);
  std::uint64_t given = 0;
  for (std::uint64_t i = 0; i < in_use; ++i) {
    const double wanted = std::floor(parts[i] / sum * static_cast<double>(choices));
    loads[i] = std::clamp(static_cast<std::uint64_t>(wanted), least, routing.tokens);
    given += loads[i];
  }
  for (std::uint64_t i = 0; given < choices; i = (i + 1) % in_use) {  // what rounding left over, from the largest down
    if (loads[i] < routing.tokens) {
      ++loads[i];
      ++given;
    }
  }
  for (std::uint64_t i = 0; given > choices; i = (i + 1) % in_use) {
    if (loads[i] > least) {
      --loads[i];
      --given;
    }
  }
  return loads;
}

std::vector<std::int32_t> expert_ids(const Routing& routing) {
  const std::vector<std::uint64_t> loads = expert_loads(routing);
  const auto names = shuffled<std::int32_t>(routing.experts, kSeed);
  std::vector<std::int32_t> ids(routing.tokens * routing.top_k);
  std::uint64_t slot = 0;  // dealt to tokens in turn: no more than `tokens` of an expert, so never twice to one
  for (std::uint64_t expert = 0; expert < loads.size(); ++expert) {
    for (std::uint64_t i = 0; i < loads[expert]; ++i, ++slot) {
      ids[(slot % routing.tokens) * routing.top_k + slot / routing.tokens] = names[expert];
    }
  }
  return ids;
}

}  // namespace dooly::profiling
