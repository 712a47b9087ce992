#pragma once

#include "replica_core/engine_config.hpp"

#include <algorithm>
#include <cstdint>

namespace dooly::sim {

/// Why an empty replica could never serve a request.
enum class Impossible : std::uint8_t { kNo, kModelLength, kBlocks, kWholePrompt };

/// KV blocks that a request needs at most at one time: those of prompt + output - 1 tokens, windows capped.
inline std::uint64_t blocks_at_most(const replica::EngineConfig& config, std::uint64_t tokens) {
  std::uint64_t blocks = 0;
  for (const replica::KvGroup& group : config.groups) {
    std::uint64_t needed = (tokens + group.block_size - 1) / group.block_size;
    if (group.admission_cap > 0) needed = std::min<std::uint64_t>(needed, group.admission_cap);
    blocks += needed;
  }
  return blocks;
}

/// The check that stands before the policy: a real scheduler would block on such a request for ever.
inline Impossible impossible(const replica::EngineConfig& config, std::uint64_t prompt, std::uint64_t output) {
  if (prompt + output > config.max_model_len) return Impossible::kModelLength;
  if (blocks_at_most(config, prompt + output - 1) > config.num_blocks - 1) return Impossible::kBlocks;
  if (!config.enable_chunked_prefill && prompt > config.max_num_batched_tokens) return Impossible::kWholePrompt;
  return Impossible::kNo;
}

}  // namespace dooly::sim
