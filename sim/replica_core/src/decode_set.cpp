#include "replica_core/decode_set.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

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
  ++needs_[node.residue];
  ++count_;
  context_ += computed;
  squares_ += std::uint64_t{computed} * computed;
  cubes_ += std::uint64_t{computed} * computed * computed;
  const auto bucket = static_cast<std::uint32_t>(node.last_step % kBuckets);
  node.previous = kNone;
  node.next = heads_[bucket];
  if (node.next != kNone) nodes_[node.next].previous = slot;
  heads_[bucket] = slot;
  used_[bucket / 64] |= 1ULL << (bucket % 64);
  if (!candidates_stale_) add_candidate({node.base, node.last_step, slot});
}

/// Requests that are shorter and do not end later will never be the longest.
void DecodeSet::add_candidate(const Candidate& candidate) const {
  if (first_candidate_ == candidates_.size()) candidates_.clear(), first_candidate_ = 0;
  const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(first_candidate_);
  auto at = candidates_.end();
  while (at != begin && std::prev(at)->base < candidate.base) --at;
  if (at != begin && std::prev(at)->last_step >= candidate.last_step) return;
  auto end = at;
  while (end != candidates_.end() && end->last_step <= candidate.last_step) ++end;
  if (at == end) {
    candidates_.insert(at, candidate);
  } else {
    *at = candidate;
    candidates_.erase(at + 1, end);
  }
}

/// One that ends is the first of them, if it is one.
void DecodeSet::drop_candidate(std::uint32_t slot) {
  if (candidates_stale_) return;
  if (nodes_[slot].last_step >= step_) {
    candidates_stale_ = std::any_of(candidates_.begin() + static_cast<std::ptrdiff_t>(first_candidate_),
                                    candidates_.end(), [&](const Candidate& c) { return c.slot == slot; });
    return;
  }
  if (first_candidate_ == candidates_.size() || candidates_[first_candidate_].slot != slot) return;
  ++first_candidate_;
  constexpr std::size_t kMostEnded = 256;
  if (first_candidate_ < kMostEnded) return;
  candidates_.erase(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(first_candidate_));
  first_candidate_ = 0;
}

void DecodeSet::find_candidates() const {
  candidates_.clear();
  first_candidate_ = 0;
  candidates_stale_ = false;
  for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (used_[bucket / 64] == 0) bucket |= 63;
    for (std::uint32_t slot = heads_[bucket]; slot != kNone; slot = nodes_[slot].next)
      add_candidate({nodes_[slot].base, nodes_[slot].last_step, slot});
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
  --needs_[nodes_[slot].residue];
  --count_;
  context_ -= now;
  squares_ -= now * now;
  cubes_ -= now * now * now;
  drop_candidate(slot);
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
  cubes_ += 3 * steps * squares_ + 3 * steps * steps * context_ + steps * steps * steps * count_;
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
