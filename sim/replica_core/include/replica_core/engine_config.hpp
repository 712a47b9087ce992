#pragma once

#include <cstdint>
#include <vector>

namespace dooly::replica {

/// A set of layers that share one block table.
struct KvGroup {
  enum class Kind : std::uint8_t { kFull, kSlidingWindow, kChunkedLocal };
  Kind kind = Kind::kFull;
  std::uint32_t block_size = 16;
  std::uint32_t window = 0;         ///< tokens a query sees (sliding window), or the chunk (chunked local)
  std::uint32_t admission_cap = 0;  ///< blocks at most counted for a request at admission; 0: no cap
  bool operator==(const KvGroup&) const = default;
};

/// What rules one engine instance: vLLM's settings after it resolved them.
struct EngineConfig {
  std::uint32_t max_num_batched_tokens = 8192;
  std::uint32_t max_num_seqs = 1024;
  std::uint32_t max_model_len = 131072;
  bool enable_chunked_prefill = true;
  std::uint32_t long_prefill_token_threshold = 0;  ///< 0: none
  bool by_priority = false;
  bool reserve_full_prompt = true;                 ///< scheduler_reserve_full_isl
  bool async_scheduling = true;                    ///< two batches in flight instead of one

  std::uint32_t num_blocks = 0;                    ///< pool size, the null block included
  std::uint32_t watermark_blocks = 0;
  bool enable_prefix_caching = true;
  std::vector<KvGroup> groups{KvGroup{}};
  std::uint32_t scheduler_block_size = 16;         ///< least common multiple of the groups' block sizes
  bool has_connector = false;                      ///< KV comes from or goes to other replicas
  bool defer_block_free = false;                   ///< asynchronous scheduling with a consuming connector
  bool grant_output_lengths = false;               ///< policies see true output lengths

  std::uint32_t depth() const { return async_scheduling ? 2 : 1; }
};

/// `admission_cap` of a group by vLLM's rule: enough for the window plus what may be in flight.
std::uint32_t admission_cap(const KvGroup& group, const EngineConfig& config);

}  // namespace dooly::replica
