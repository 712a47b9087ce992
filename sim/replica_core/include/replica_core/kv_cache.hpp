#pragma once

#include "replica_core/content.hpp"
#include "replica_core/engine_config.hpp"
#include "replica_core/shared_kv.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dooly::replica {

/// The part of a request that the KV cache needs to know.
struct KvRequest {
  std::uint32_t slot = 0;
  std::uint32_t prompt = 0;
  std::uint32_t known = 0;      ///< prompt plus output tokens known
  std::uint32_t computed = 0;
  std::uint32_t in_flight = 0;  ///< tokens of batches whose result is not processed
  std::uint64_t unique_key = 0; ///< stands for the content beyond `content`
  std::span<const ContentSegment> content;
};

/// How one allocation is to be judged. `hit` and `external` are tokens found by find() and brought by a transfer.
struct KvGrant {
  std::uint32_t new_tokens = 0;
  std::uint32_t hit = 0;
  std::uint32_t external = 0;
  bool admission = false;        ///< from a waiting queue: the watermark counts if something runs already
  bool reserve_full = false;     ///< all blocks of the known tokens must fit
  std::uint32_t watermark = 0;
  std::uint32_t reserved = 0;    ///< blocks promised to others
  bool delay_caching = false;    ///< content arrives later: no keys yet
};

/// Block-exact KV cache of one replica: paged blocks, prefix caching by chained hashes, eviction in the engine's order
/// (blocks without a key are reused first and at once; keyed ones least recently freed first, a chain's tail before
/// its start). Rules: vLLM V1 block pool and KV cache manager. Requests are named by slot numbers.
class KvCache {
 public:
  virtual ~KvCache() = default;

  /// Whether steady decodes may be grown by count with take(); false: every request must be allocated by itself.
  virtual bool grows_in_bulk() const = 0;
  virtual void open(std::uint32_t slot) = 0;  ///< a new request, holding nothing

  /// Longest cached prefix of the known tokens, in tokens: whole blocks, at most known - 1. Remembered for the
  /// allocate() that follows.
  virtual std::uint32_t find(const KvRequest& request) = 0;
  /// The same without remembering it (routers ask).
  virtual std::uint32_t peek(const KvRequest& request) const = 0;
  virtual bool allocate(const KvRequest& request, const KvGrant& grant) = 0;
  virtual void store(const KvRequest& request, std::uint32_t tokens) = 0;  ///< gives keys to full blocks up to `tokens`

  /// The request is over but keeps its blocks: from now on others may look up its exclusive content too.
  virtual void publish(const KvRequest& request) = 0;

  enum class Release : std::uint8_t { kPreempted, kFinished };
  virtual void release(const KvRequest& request, Release why) = 0;
  /// Takes the blocks from the request without freeing them; free_detached() frees them later as one batch.
  virtual std::uint64_t detach(const KvRequest& request, Release why) = 0;
  virtual void free_detached(std::uint64_t handle) = 0;

  /// Takes `count` <= free_blocks() blocks for steady decodes; sync_decode() later tells which request has how many.
  virtual void take(std::uint32_t count) = 0;
  virtual void sync_decode(std::uint32_t slot, std::uint32_t table_length, std::uint32_t cached_blocks) = 0;

  virtual std::uint32_t free_blocks() const = 0;
  virtual std::uint32_t holders() const = 0;  ///< requests that hold blocks
  virtual SharedKv shared() const = 0;  ///< of the groups of full attention
  /// Blocks the request still needs to hold all its known tokens (capped at max_model_len).
  virtual std::uint32_t missing_blocks(const KvRequest& request) const = 0;
  virtual bool holds_table(std::uint32_t slot) const = 0;
  virtual std::uint32_t table_length(std::uint32_t slot, std::size_t group) const = 0;
  virtual std::uint32_t null_entries(std::uint32_t slot, std::size_t group) const = 0;
  virtual bool reset() = 0;  ///< forgets all keys if every block is free; says whether it did

  // --- for decision logs and invariants: may walk everything
  virtual std::size_t distinct_keys() const = 0;
  /// Leading blocks of `slot` that every request with a table shares (full attention with caching on; else 0).
  virtual std::uint32_t common_prefix(std::uint32_t slot, std::size_t group) const = 0;
  virtual std::span<const std::uint32_t> block_ids(std::uint32_t slot, std::size_t group) const = 0;  ///< empty: no ids
  virtual std::vector<std::uint32_t> free_queue() const = 0;  ///< ids from head to tail; empty: no ids
  /// Throws std::logic_error naming what does not balance.
  virtual void check_balance() const = 0;

  std::uint32_t evicted = 0;  ///< keyed blocks that lost their key to an allocation since it was last set to 0

 protected:
  KvCache() = default;
};

/// Keeps block ids and serves every kind of group. Cost of an action: the blocks it touches.
std::unique_ptr<KvCache> make_block_kv_cache(const EngineConfig& config);
/// Full attention only. Blocks that nobody can share have no identity: they are counted, not listed.
std::unique_ptr<KvCache> make_run_kv_cache(const EngineConfig& config);
/// The faster one that serves the configuration.
std::unique_ptr<KvCache> make_kv_cache(const EngineConfig& config);

}  // namespace dooly::replica
