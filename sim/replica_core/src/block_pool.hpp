#pragma once

#include "replica_core/shared_kv.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace dooly::replica {

/// Physical KV blocks 1..n-1 (0 is the placeholder) with reference counts, keys and the free queue.
class BlockPool {
 public:
  BlockPool(std::uint32_t num_blocks, bool caching);

  std::uint32_t free_count() const { return free_count_; }
  std::uint32_t references(std::uint32_t block) const { return blocks_[block].references; }
  bool has_key(std::uint32_t block) const { return blocks_[block].keyed; }
  std::uint64_t key(std::uint32_t block) const { return blocks_[block].key; }
  std::uint32_t key_tokens(std::uint32_t block) const { return blocks_[block].key_tokens; }

  /// First block that was given `key` among those that still carry it; 0: none.
  std::uint32_t find(std::uint64_t key) const;
  bool carries(std::uint32_t block, std::uint64_t key) const;
  void add_key(std::uint32_t block, std::uint64_t key, std::uint32_t tokens);
  bool forget(std::uint32_t block);  ///< drops all keys; says whether there were any

  /// Takes blocks from the head of the queue, appending them; returns how many lost a key.
  /// `is_full`: for layers that attend to everything; what is shared is counted of these.
  std::uint32_t take(std::uint32_t count, std::vector<std::uint32_t>& into, bool is_full);
  void reference(std::uint32_t block);  ///< a hit: leaves the free queue if it is in it
  /// Drops one reference of each; those that become free go to the queue in the engine's order: without a key to the
  /// head, keyed to the tail, both in the order given. Placeholders are passed over.
  void release(std::span<const std::uint32_t> blocks);
  void forget_all();
  SharedKv shared() const { return shared_; }

  std::size_t distinct_keys() const { return by_key_.size(); }
  std::vector<std::uint32_t> queue() const;
  std::uint32_t size() const { return static_cast<std::uint32_t>(blocks_.size()); }

 private:
  struct Block {
    std::uint32_t previous = 0, next = 0;  ///< free queue; 0 is the sentinel
    std::uint32_t references = 0;
    std::uint32_t key_tokens = 0;
    std::uint64_t key = 0;
    bool keyed = false;
    bool is_full = true;
  };
  void link_after(std::uint32_t block, std::uint32_t previous);
  void unlink(std::uint32_t block);
  void erase_from_index(std::uint64_t key, std::uint32_t block);

  std::vector<Block> blocks_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_key_;     // never iterated
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> more_keys_;  // never iterated
  std::uint32_t free_count_ = 0;
  SharedKv shared_;
  bool caching_;
  std::vector<std::uint32_t> scratch_;
};

}  // namespace dooly::replica
