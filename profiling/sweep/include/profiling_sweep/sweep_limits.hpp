#pragma once

#include <cstdint>

namespace dooly::profiling {

/// How far operators are measured: what the engine's settings let a step be.
struct SweepLimits {
  std::uint32_t max_batched_tokens = 8192;
  std::uint32_t max_sequences = 256;
  std::uint32_t max_context = 32768;         ///< tokens of one sequence, those of the step included
  std::uint64_t max_kv_tokens = 1ull << 20;  ///< in the cache, of all sequences of a step
};

}  // namespace dooly::profiling
