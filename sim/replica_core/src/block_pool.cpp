#include "block_pool.hpp"

#include <algorithm>

namespace dooly::replica {

BlockPool::BlockPool(std::uint32_t num_blocks, bool caching) : blocks_(num_blocks), caching_(caching) {
  for (std::uint32_t block = 1; block < num_blocks; ++block) link_after(block, block - 1);
}

void BlockPool::link_after(std::uint32_t block, std::uint32_t previous) {
  const std::uint32_t next = blocks_[previous].next;
  blocks_[block].previous = previous;
  blocks_[block].next = next;
  blocks_[previous].next = block;
  blocks_[next].previous = block;
  ++free_count_;
}

void BlockPool::unlink(std::uint32_t block) {
  const Block& b = blocks_[block];
  blocks_[b.previous].next = b.next;
  blocks_[b.next].previous = b.previous;
  --free_count_;
}

std::uint32_t BlockPool::find(std::uint64_t key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? 0 : found->second.front();
}

bool BlockPool::carries(std::uint32_t block, std::uint64_t key) const {
  if (blocks_[block].keyed && blocks_[block].key == key) return true;
  const auto found = by_key_.find(key);
  return found != by_key_.end() && std::find(found->second.begin(), found->second.end(), block) != found->second.end();
}

void BlockPool::add_key(std::uint32_t block, std::uint64_t key, std::uint32_t tokens) {
  if (carries(block, key)) return;
  Block& b = blocks_[block];
  if (!b.keyed) {
    b.keyed = true;
    b.key = key;
    b.key_tokens = tokens;
  } else {
    more_keys_[block].push_back(key);
  }
  by_key_[key].push_back(block);
}

void BlockPool::erase_from_index(std::uint64_t key, std::uint32_t block) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  std::erase(found->second, block);
  if (found->second.empty()) by_key_.erase(found);
}

bool BlockPool::forget(std::uint32_t block) {
  Block& b = blocks_[block];
  if (!b.keyed) return false;
  erase_from_index(b.key, block);
  if (const auto more = more_keys_.find(block); more != more_keys_.end()) {
    for (const std::uint64_t key : more->second) erase_from_index(key, block);
    more_keys_.erase(more);
  }
  b.keyed = false;
  return true;
}

std::uint32_t BlockPool::take(std::uint32_t count, std::vector<std::uint32_t>& into, bool is_full) {
  std::uint32_t lost = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t block = blocks_[0].next;
    unlink(block);
    if (caching_ && forget(block)) ++lost;
    blocks_[block].references = 1;
    blocks_[block].is_full = is_full;
    into.push_back(block);
  }
  return lost;
}

void BlockPool::reference(std::uint32_t block) {
  if (blocks_[block].references == 0) unlink(block);
  if (blocks_[block].is_full) shared_.raised(blocks_[block].references);
  ++blocks_[block].references;
}

void BlockPool::release(std::span<const std::uint32_t> blocks) {
  scratch_.clear();
  for (const std::uint32_t block : blocks) {
    if (block == 0) continue;
    --blocks_[block].references;
    if (blocks_[block].is_full) shared_.lowered(blocks_[block].references);
    if (blocks_[block].references > 0) continue;
    if (blocks_[block].keyed) {
      link_after(block, blocks_[0].previous);
    } else {
      scratch_.push_back(block);
    }
  }
  for (auto block = scratch_.rbegin(); block != scratch_.rend(); ++block) link_after(*block, 0);
}

void BlockPool::forget_all() {
  by_key_.clear();
  more_keys_.clear();
  for (Block& block : blocks_) block.keyed = false;
}

std::vector<std::uint32_t> BlockPool::queue() const {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t block = blocks_[0].next; block != 0; block = blocks_[block].next) ids.push_back(block);
  return ids;
}

}  // namespace dooly::replica
