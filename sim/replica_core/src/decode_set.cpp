#include "replica_core/decode_set.hpp"

#include <algorithm>
#include <bit>

namespace dooly::replica {

DecodeSet::DecodeSet(std::uint32_t block_size)
    : block_size_(block_size),
      needs_(block_size, 0),
      heads_(kBuckets, kNone) {}

void DecodeSet::insert(std::uint32_t slot, std::uint32_t computed, std::uint32_t last_computed) {
  if (nodes_.size() <= slot) nodes_.resize(slot + 1);
  Node& node = nodes_[slot];
  node.base = static_cast<std::int64_t>(computed) - static_cast<std::int64_t>(step_);
  node.last_step = step_ + (last_computed - computed) - 1;
  node.residue = static_cast<std::uint32_t>((step_ + (block_size_ - computed % block_size_)) % block_size_);
  node.is_in = true;
  ++needs_[node.residue];
  ++count_;
  context_ += computed;
  squares_ += std::uint64_t{computed} * computed;
  const auto bucket = static_cast<std::uint32_t>(node.last_step % kBuckets);
  node.previous = kNone;
  node.next = heads_[bucket];
  if (node.next != kNone) nodes_[node.next].previous = slot;
  heads_[bucket] = slot;
  used_[bucket / 64] |= 1ULL << (bucket % 64);
  by_length_.push_back({node.base, slot});
  std::push_heap(by_length_.begin(), by_length_.end());
}

/// Those that left, from the top; all of them once they are most of the heap.
void DecodeSet::drop_lengths() {
  if (by_length_.size() > 2 * std::size_t{count_} + kBuckets) {
    std::erase_if(by_length_, [&](const Length& length) { return !is_there(length); });
    std::make_heap(by_length_.begin(), by_length_.end());
  }
  while (!by_length_.empty() && !is_there(by_length_.front())) {
    std::pop_heap(by_length_.begin(), by_length_.end());
    by_length_.pop_back();
  }
}

void DecodeSet::unlink(std::uint32_t slot) {
  const Node& node = nodes_[slot];
  const auto bucket = static_cast<std::uint32_t>(node.last_step % kBuckets);
  if (node.next != kNone) nodes_[node.next].previous = node.previous;
  if (node.previous != kNone) {
    nodes_[node.previous].next = node.next;
  } else {
    heads_[bucket] = node.next;
    if (node.next == kNone) used_[bucket / 64] &= ~(1ULL << (bucket % 64));
  }
}

void DecodeSet::remove(std::uint32_t slot) {
  unlink(slot);
  const std::uint64_t now = computed(slot);
  nodes_[slot].is_in = false;
  --needs_[nodes_[slot].residue];
  --count_;
  context_ -= now;
  squares_ -= now * now;
  drop_lengths();
}

std::uint64_t DecodeSet::steps_to_end() const {
  const auto start = static_cast<std::uint32_t>(step_ % kBuckets);
  for (std::uint32_t distance = 0; distance < kBuckets;) {
    const std::uint32_t bucket = (start + distance) % kBuckets;
    const std::uint64_t word = used_[bucket / 64] >> (bucket % 64);
    if (word != 0) return distance + static_cast<std::uint32_t>(std::countr_zero(word));
    distance += 64 - bucket % 64;
  }
  return kBuckets;
}

void DecodeSet::advance(std::uint64_t steps) {
  // sum (c+s)^2 = sum c^2 + 2 s sum c + n s^2
  squares_ += 2 * steps * context_ + steps * steps * count_;
  context_ += steps * count_;
  step_ += steps;
}

void DecodeSet::advance_and_collect(std::vector<std::uint32_t>& ended) {
  const std::uint64_t now = step_;
  advance(1);
  for (std::uint32_t slot = heads_[now % kBuckets]; slot != kNone;) {
    const std::uint32_t next = nodes_[slot].next;
    if (nodes_[slot].last_step == now) {
      remove(slot);
      ended.push_back(slot);
    }
    slot = next;
  }
}

}  // namespace dooly::replica
