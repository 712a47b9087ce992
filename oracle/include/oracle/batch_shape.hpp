#pragma once

#include <cstdint>
#include <span>

namespace dooly::oracle {

/// One prefill chunk of an iteration: `query` new tokens on top of `context` tokens already in the KV cache.
struct PrefillChunk {
  std::uint32_t query = 0;
  std::uint32_t context = 0;
};

/// The batch of one iteration, as the oracle sees it. Decodes are kept as aggregates so that a decode-only step costs
/// O(1) to describe; prefill chunks (few per iteration) are listed. `decode_context` counts KV tokens *before* the
/// step: a decode attends to context + 1 tokens.
struct BatchShape {
  std::uint32_t decodes = 0;                 ///< sequences that compute just their one last known token
  std::uint64_t decode_context = 0;          ///< sum of context tokens over the decodes
  std::uint64_t decode_context_squares = 0;  ///< sum of squared contexts: with the sum it gives the deviation
  std::uint32_t prefill_tokens = 0;          ///< sum of query over `prefills`
  std::uint32_t logits_rows = 0;             ///< sequences that sample a token in this iteration
  std::span<const PrefillChunk> prefills;    ///< in scheduling order
  std::uint32_t decode_longest = 0;          ///< the largest context of the decodes; 0: not told
  std::uint64_t decode_context_cubes = 0;    ///< sum of cubed contexts, modulo 2^64; 0: not told
  std::uint64_t shared_tokens = 0;           ///< tokens in KV blocks that several of the running requests hold
  std::uint64_t repeated_tokens = 0;         ///< sum over these of the requests that hold them, less one
  std::uint32_t replica = 0;  ///< whose batch; no answer depends on it, but its steps go on from each other

  std::uint32_t tokens() const { return decodes + prefill_tokens; }
  std::uint32_t requests() const { return decodes + static_cast<std::uint32_t>(prefills.size()); }
  bool empty() const { return tokens() == 0; }
};

/// How warm the device runs: the weight, 0 to 1, between the two regimes that are measured, cool (0) and sustained
/// under the power cap (1). Owned and advanced by the replica.
struct DeviceState {
  double sustained = 0.0;
};

}  // namespace dooly::oracle
