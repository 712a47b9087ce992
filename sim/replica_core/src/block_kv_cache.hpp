#pragma once

#include "block_pool.hpp"
#include "replica_core/kv_cache.hpp"

#include <deque>
#include <optional>
#include <vector>

namespace dooly::replica {

/// KvCache with block ids: every block table is written out. Serves full attention, sliding windows, chunked local
/// attention and hybrids of them.
class BlockKvCache final : public KvCache {
 public:
  explicit BlockKvCache(const EngineConfig& config);

  bool grows_in_bulk() const override { return false; }
  void open(std::uint32_t slot) override;
  std::uint32_t find(const KvRequest& request) override;
  std::uint32_t peek(const KvRequest& request) const override;
  bool allocate(const KvRequest& request, const KvGrant& grant) override;
  void store(const KvRequest& request, std::uint32_t tokens) override;
  void publish(const KvRequest&) override {}
  void release(const KvRequest& request, Release why) override;
  std::uint64_t detach(const KvRequest& request, Release why) override;
  void free_detached(std::uint64_t handle) override;
  void take(std::uint32_t count) override;
  void sync_decode(std::uint32_t slot, std::uint32_t table_length, std::uint32_t cached_blocks) override;
  std::uint32_t free_blocks() const override { return pool_.free_count(); }
  std::uint32_t holders() const override { return tables_held_; }
  SharedKv shared() const override { return pool_.shared(); }
  std::uint32_t missing_blocks(const KvRequest& request) const override;
  bool holds_table(std::uint32_t slot) const override { return requests_[slot].holds_table; }
  std::uint32_t table_length(std::uint32_t slot, std::size_t group) const override;
  std::uint32_t null_entries(std::uint32_t slot, std::size_t group) const override;
  bool reset() override;
  std::size_t distinct_keys() const override { return pool_.distinct_keys(); }
  std::uint32_t common_prefix(std::uint32_t slot, std::size_t group) const override;
  std::span<const std::uint32_t> block_ids(std::uint32_t slot, std::size_t group) const override;
  std::vector<std::uint32_t> free_queue() const override { return pool_.queue(); }
  void check_balance() const override;

 private:
  using Table = std::vector<std::uint32_t>;
  struct Holding {
    std::vector<Table> tables;         ///< one per group; 0 = placeholder
    std::vector<std::int64_t> cached;  ///< blocks that have been considered for keys; -1: none yet
    bool holds_table = false;
    bool touched_cache() const;        ///< had a hit, a load or a keyed block
  };
  struct Hit {
    std::vector<Table> blocks;
    std::uint32_t tokens = 0;
  };
  /// Groups of equal geometry are looked up together.
  struct Spec {
    KvGroup group;
    std::vector<std::size_t> members;
  };

  bool is_full(std::size_t group) const { return config_.groups[group].kind == KvGroup::Kind::kFull; }
  Hit look_up(const KvRequest& request) const;
  Hit look_up_spec(const Spec& spec, const KvRequest& request, std::uint32_t limit, std::uint32_t align) const;
  void find_full(const Spec& spec, const KvRequest& request, std::uint32_t limit, std::uint32_t align, Hit& hit) const;
  void find_window(const Spec& spec, const KvRequest& request, std::uint32_t limit, std::uint32_t align,
                   Hit& hit) const;
  void find_local(const Spec& spec, const KvRequest& request, std::uint32_t limit, Hit& hit) const;
  bool blocks_at(const Spec& spec, std::uint64_t key, std::vector<std::uint32_t>& into) const;

  std::uint32_t needed(const KvRequest& request, std::uint32_t tokens, const Hit* hit, std::uint32_t total,
                       bool capped) const;
  void drop_behind_window(std::uint32_t slot, std::uint32_t processed);
  void take_hit(Holding& holding, const Hit& hit, std::uint32_t total, std::uint32_t external);
  void store_group(const KvRequest& request, std::size_t index, std::uint32_t tokens);
  void store_prompt_edge(const KvRequest& request, std::size_t index, std::uint32_t tokens);
  static std::uint32_t behind_window(const KvGroup& group, std::uint32_t tokens);

  EngineConfig config_;
  BlockPool pool_;
  std::vector<Spec> specs_;
  bool hybrid_;
  std::uint32_t hash_block_size_;
  std::vector<Holding> requests_;
  std::uint32_t tables_held_ = 0;
  std::optional<std::pair<std::uint32_t, Hit>> pending_hit_;  ///< result of find() and its slot
  std::deque<std::optional<std::vector<Table>>> detached_;
  std::uint64_t first_detached_ = 0;
};

}  // namespace dooly::replica
