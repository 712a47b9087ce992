#include "replica_core/kv_cache.hpp"

#include "block_kv_cache.hpp"
#include "run_kv_cache.hpp"

#include <algorithm>

namespace dooly::replica {

std::unique_ptr<KvCache> make_block_kv_cache(const EngineConfig& config) {
  return std::make_unique<BlockKvCache>(config);
}
std::unique_ptr<KvCache> make_run_kv_cache(const EngineConfig& config) { return std::make_unique<RunKvCache>(config); }

std::unique_ptr<KvCache> make_kv_cache(const EngineConfig& config) {
  const bool full_only = config.groups.size() == 1 && config.groups[0].kind == KvGroup::Kind::kFull;
  return full_only ? make_run_kv_cache(config) : make_block_kv_cache(config);
}

std::uint32_t admission_cap(const KvGroup& group, const EngineConfig& config) {
  const std::uint64_t in_flight = std::uint64_t{config.depth()} * config.max_num_batched_tokens;
  const auto blocks = [&](std::uint64_t tokens) {
    return static_cast<std::uint32_t>((std::min<std::uint64_t>(tokens, config.max_model_len) + group.block_size - 1) /
                                      group.block_size);
  };
  switch (group.kind) {
    case KvGroup::Kind::kSlidingWindow: return blocks(group.window - 1 + in_flight) + 1;
    case KvGroup::Kind::kChunkedLocal: return blocks(group.window + in_flight);
    case KvGroup::Kind::kFull: break;
  }
  return 0;
}

}  // namespace dooly::replica
