#pragma once

#include "replica_core/kv_cache.hpp"
#include "shared_blocks.hpp"

#include <deque>
#include <vector>

namespace dooly::replica {

/// KvCache for full attention at a cost that follows what is shared, not what is held. A request's table is
/// [shared blocks with identity][keyed private blocks, a count][blocks without key, a count]. Free blocks without a
/// key always precede keyed ones in the engine's free queue, so they are one counter in front of SharedBlocks' queue.
/// Relies on: a cached block's predecessor is cached too (full attention frees and evicts a chain's tail first).
class RunKvCache final : public KvCache {
 public:
  explicit RunKvCache(const EngineConfig& config);

  bool grows_in_bulk() const override { return true; }
  void open(std::uint32_t slot) override;
  std::uint32_t find(const KvRequest& request) override;
  std::uint32_t peek(const KvRequest& request) const override;
  bool allocate(const KvRequest& request, const KvGrant& grant) override;
  void store(const KvRequest& request, std::uint32_t tokens) override;
  void publish(const KvRequest& request) override;
  void release(const KvRequest& request, Release why) override;
  std::uint64_t detach(const KvRequest& request, Release why) override;
  void free_detached(std::uint64_t handle) override;
  void take(std::uint32_t count) override;
  void sync_decode(std::uint32_t slot, std::uint32_t table_length, std::uint32_t cached_blocks) override;
  std::uint32_t free_blocks() const override { return free_; }
  std::uint32_t holders() const override { return tables_held_; }
  SharedKv shared() const override { return blocks_.shared(); }
  std::uint32_t missing_blocks(const KvRequest& request) const override;
  bool holds_table(std::uint32_t slot) const override { return requests_[slot].holds_table; }
  std::uint32_t table_length(std::uint32_t slot, std::size_t) const override { return requests_[slot].length; }
  std::uint32_t null_entries(std::uint32_t, std::size_t) const override { return 0; }
  bool reset() override;
  std::size_t distinct_keys() const override;
  std::uint32_t common_prefix(std::uint32_t slot, std::size_t group) const override;
  std::span<const std::uint32_t> block_ids(std::uint32_t, std::size_t) const override { return {}; }
  std::vector<std::uint32_t> free_queue() const override { return {}; }
  void check_balance() const override;

 private:
  struct Holding {
    std::vector<SharedBlocks::Range> shared;  ///< the leading blocks, in order
    std::uint32_t shared_blocks = 0;          ///< how many they are
    std::uint32_t length = 0;           ///< table length, blocks
    std::uint32_t cached = 0;           ///< blocks that carry a key: the shared ones and the private ones after them
    std::uint32_t run = 0;              ///< own keyed private blocks in the free queue after a preemption; 0: none
    std::uint32_t run_start = 0;        ///< table index of the first of them
    std::uint32_t named = 0;  ///< blocks that get identity although nobody else looks them up (see name_blocks)
    bool holds_table = false;
    std::uint32_t generation = 0;  ///< counts the requests that had this slot
  };
  struct Hit {
    std::uint32_t shared = 0;  ///< blocks with identity
    std::uint32_t own = 0;  ///< blocks of the request's own run
    std::uint32_t in_queue = 0;  ///< of both, those that are free
    std::uint32_t blocks() const { return shared + own; }
  };
  /// A stretch of blocks whose keys stand for one content.
  struct Stretch {
    std::uint64_t key;
    std::uint32_t start, end;  ///< blocks
  };
  Stretch own_stretch(const KvRequest& request) const;
  template <class Visit>
  std::uint32_t walk_stretch(const Stretch& stretch, std::uint32_t index, std::uint32_t limit, Visit&& visit) const;
  template <class Visit>
  std::uint32_t walk_named(const KvRequest& request, std::uint32_t limit, bool own, Visit&& visit) const;
  Hit look_up(const KvRequest& request) const;
  void take_hit(const KvRequest& request, Hit hit);
  template <class Visit>
  void for_each_stretch_backwards(const KvRequest& request, std::uint32_t from, std::uint32_t to, Visit&& visit) const;
  void name_blocks(const KvRequest& request, Holding& holding, std::uint32_t to);
  void name_run(const KvRequest& request, Holding& holding);
  void publish_run(const KvRequest& request, Holding& holding);
  std::uint32_t shareable_blocks(const KvRequest& request) const;
  void give_back_named(const Holding& holding);
  void empty(Holding& holding);
  void share_private_blocks(const KvRequest& request, Holding& holding);
  std::uint32_t covered_blocks(const KvRequest& request) const;

  EngineConfig config_;
  std::uint32_t block_size_;
  std::uint32_t free_;  ///< all free blocks
  std::uint32_t unkeyed_;  ///< of them without a key: reused first
  SharedBlocks blocks_;
  std::vector<Holding> requests_;
  std::uint32_t tables_held_ = 0;
  Hit pending_hit_;
  std::uint32_t pending_slot_ = 0xFFFFFFFFU;
  std::uint32_t pending_known_ = 0;
  std::uint64_t pending_version_ = 0;
  std::vector<Holding> detached_;
  std::vector<std::uint32_t> free_detached_;
};

}  // namespace dooly::replica
