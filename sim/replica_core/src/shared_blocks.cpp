#include "shared_blocks.hpp"

#include <algorithm>

namespace dooly::replica {

SharedBlocks::SharedBlocks() : nodes_(1), index_(16, kNoSegment) {}

// --- segment index: linear probing; keys are already well mixed

std::uint32_t SharedBlocks::find_segment(std::uint64_t key) const {
  for (std::size_t at = bucket(key);; at = (at + 1) & (index_.size() - 1)) {
    const std::uint32_t segment = index_[at];
    if (segment == kNoSegment || copies_[segment].key == key) return segment;
  }
}

std::uint32_t SharedBlocks::segment(std::uint64_t key) {
  const std::uint32_t known = find_segment(key);
  if (known != kNoSegment) return known;
  if ((live_segments_ + 1) * 2 > index_.size()) grow_index();
  const std::uint32_t made = new_copy(key);
  copies_[made].first = made;
  std::size_t at = bucket(key);
  while (index_[at] != kNoSegment) at = (at + 1) & (index_.size() - 1);
  index_[at] = made;
  ++live_segments_;
  return made;
}

std::uint32_t SharedBlocks::new_copy(std::uint64_t key) {
  std::uint32_t made;
  if (free_copies_.empty()) {
    made = static_cast<std::uint32_t>(copies_.size());
    copies_.emplace_back();
  } else {
    made = free_copies_.back();
    free_copies_.pop_back();
  }
  Copy& copy = copies_[made];
  copy.key = key;
  copy.next = kNoCopy;
  copy.present = 0;
  copy.nodes = kNone;
  copy.references.clear();
  return made;
}

void SharedBlocks::grow_index() {
  std::vector<std::uint32_t> old(index_.size() * 2, kNoSegment);
  old.swap(index_);
  for (const std::uint32_t segment : old) {
    if (segment == kNoSegment) continue;
    std::size_t at = bucket(copies_[segment].key);
    while (index_[at] != kNoSegment) at = (at + 1) & (index_.size() - 1);
    index_[at] = segment;
  }
}

void SharedBlocks::erase_segment(std::uint32_t segment) {
  const std::size_t mask = index_.size() - 1;
  std::size_t hole = bucket(copies_[segment].key);
  while (index_[hole] != segment) hole = (hole + 1) & mask;
  for (std::size_t at = (hole + 1) & mask; index_[at] != kNoSegment; at = (at + 1) & mask) {  // backward shift
    const std::size_t home = bucket(copies_[index_[at]].key);
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    index_[hole] = index_[at];
    hole = at;
  }
  index_[hole] = kNoSegment;
  for (std::uint32_t copy = segment; copy != kNoCopy; copy = copies_[copy].next) free_copies_.push_back(copy);
  --live_segments_;
}

// --- blocks

SharedBlocks::Range SharedBlocks::cached_from(std::uint32_t segment, std::uint32_t index, std::uint32_t limit) const {
  std::uint32_t copy = segment;
  while (copy != kNoCopy && !copies_[copy].holds(index)) copy = copies_[copy].next;
  if (copy == kNoCopy || index >= limit) return {};
  std::uint32_t end = index + 1;
  const auto first_holder = [&](std::uint32_t at) {
    for (std::uint32_t earlier = segment; earlier != copy; earlier = copies_[earlier].next)
      if (copies_[earlier].holds(at)) return false;
    return copies_[copy].holds(at);
  };
  if (copy == segment) {
    const std::vector<std::uint32_t>& references = copies_[copy].references;
    const auto last = std::min(limit, static_cast<std::uint32_t>(references.size()));
    while (end < last && references[end] != kAbsent) ++end;
  } else {
    while (end < limit && first_holder(end)) ++end;
  }
  return {copy, index, end};
}

/// Behind every copy that holds the index.
std::uint32_t SharedBlocks::copy_for_new(std::uint32_t segment, std::uint32_t index) {
  std::uint32_t chosen = segment;  // the first copy from which on none holds the index
  std::uint32_t last = segment;
  for (std::uint32_t copy = segment; copy != kNoCopy; copy = copies_[copy].next) {
    if (copies_[copy].holds(index)) chosen = copies_[copy].next;
    last = copy;
  }
  if (chosen != kNoCopy) return chosen;
  const std::uint32_t made = new_copy(copies_[segment].key);
  copies_[made].first = segment;
  copies_[last].next = made;
  return made;
}

template <class Visit>
void SharedBlocks::for_each_new_range(std::uint32_t segment, std::uint32_t lo, std::uint32_t hi, Visit&& visit) {
  const auto size = static_cast<std::uint32_t>(copies_[segment].references.size());
  if (is_single(segment) && lo >= size) return visit(segment, lo, hi);  // the usual case: all new
  while (lo < hi) {
    const std::uint32_t copy = copy_for_new(segment, lo);
    std::uint32_t end = lo + 1;
    while (end < hi && copy_for_new(segment, end) == copy) ++end;
    visit(copy, lo, end);
    lo = end;
  }
}

void SharedBlocks::insert(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi, std::uint32_t references) {
  const std::uint32_t segment = copies_[copy].first;
  if (is_single(segment)) {
    distinct_ += hi - lo;
  } else {
    for (std::uint32_t index = lo; index < hi; ++index) {
      bool elsewhere = false;
      for (std::uint32_t other = segment; other != kNoCopy; other = copies_[other].next)
        elsewhere = elsewhere || copies_[other].holds(index);
      distinct_ += elsewhere ? 0 : 1;
    }
  }
  std::vector<std::uint32_t>& counts = copies_[copy].references;
  if (counts.size() < hi) counts.resize(hi, kAbsent);
  std::fill(counts.begin() + lo, counts.begin() + hi, references);
  copies_[segment].present += hi - lo;
  ++version_;
}

void SharedBlocks::add(std::uint32_t segment, std::uint32_t lo, std::uint32_t hi, std::vector<Range>& where) {
  for_each_new_range(segment, lo, hi, [&](std::uint32_t copy, std::uint32_t from, std::uint32_t to) {
    insert(copy, from, to, 1);
    if (!where.empty() && where.back().copy == copy && where.back().hi == from) {
      where.back().hi = to;
    } else {
      where.push_back({copy, from, to});
    }
  });
}

void SharedBlocks::add_free(std::uint32_t segment, std::uint32_t lo, std::uint32_t hi) {
  std::vector<Range> ranges;
  for_each_new_range(segment, lo, hi, [&](std::uint32_t copy, std::uint32_t from, std::uint32_t to) {
    insert(copy, from, to, 0);
    ranges.push_back({copy, from, to});
  });
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) push_range(range->copy, range->lo, range->hi);
}

std::uint32_t SharedBlocks::free_in(const Range& range) const {
  const std::vector<std::uint32_t>& counts = copies_[range.copy].references;
  std::uint32_t free = 0;
  for (std::uint32_t index = range.lo; index < range.hi; ++index) free += counts[index] == 0;
  return free;
}

void SharedBlocks::reference(const Range& range) {
  std::vector<std::uint32_t>& counts = copies_[range.copy].references;
  std::uint32_t free = 0;
  for (std::uint32_t index = range.lo; index < range.hi; ++index) {
    shared_.raised(counts[index]);
    free += counts[index]++ == 0;
  }
  if (free == 0) return;
  take_out(range.copy, range.lo, range.hi);
  queued_ -= free;
  ++version_;
}

std::uint32_t SharedBlocks::dereference(const Range& range) {
  std::vector<std::uint32_t>& counts = copies_[range.copy].references;
  std::uint32_t free = 0;
  std::uint32_t top = range.hi;  // blocks index ... top-1 have come free and are not in the queue yet
  for (std::uint32_t index = range.hi; index-- > range.lo;) {
    shared_.lowered(--counts[index]);
    if (counts[index] == 0) {
      ++free;
      continue;
    }
    if (index + 1 < top) push_range(range.copy, index + 1, top);
    top = index;
  }
  if (range.lo < top) push_range(range.copy, range.lo, top);
  if (free > 0) ++version_;
  return free;
}

/// The blocks are gone.
void SharedBlocks::forget(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi) {
  const std::uint32_t segment = copies_[copy].first;
  std::vector<std::uint32_t>& counts = copies_[copy].references;
  std::fill(counts.begin() + lo, counts.begin() + hi, kAbsent);
  if (is_single(segment)) {
    distinct_ -= hi - lo;
    if (hi == counts.size()) counts.resize(lo);
  } else {
    for (std::uint32_t index = lo; index < hi; ++index) {
      bool elsewhere = false;
      for (std::uint32_t other = segment; other != kNoCopy; other = copies_[other].next)
        elsewhere = elsewhere || copies_[other].holds(index);
      distinct_ -= elsewhere ? 0 : 1;
    }
  }
  if ((copies_[segment].present -= hi - lo) == 0) erase_segment(segment);
  ++version_;
}

// --- the free queue

std::uint32_t SharedBlocks::new_node(const Node& node) {
  if (free_nodes_.empty()) {
    nodes_.push_back(node);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  const std::uint32_t made = free_nodes_.back();
  free_nodes_.pop_back();
  nodes_[made] = node;
  return made;
}

void SharedBlocks::link_before(std::uint32_t node, std::uint32_t next) {
  const std::uint32_t previous = nodes_[next].previous;
  nodes_[node].previous = previous;
  nodes_[node].next = next;
  nodes_[previous].next = node;
  nodes_[next].previous = node;
}

/// Blocks lo ... hi-1 as a node of their own before the node `next`.
void SharedBlocks::link_range(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi, std::uint32_t next) {
  const std::uint32_t older = copies_[copy].nodes;
  const std::uint32_t node = new_node({.copy = copy, .lo = lo, .hi = hi, .older = older});
  if (older != kNone) nodes_[older].newer = node;
  copies_[copy].nodes = node;
  link_before(node, next);
}

void SharedBlocks::push_range(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi) {
  queued_ += hi - lo;
  ++version_;
  const std::uint32_t tail = nodes_[0].previous;
  if (tail != kNone && nodes_[tail].copy == copy && nodes_[tail].lo == hi) {
    nodes_[tail].lo = lo;
  } else {
    link_range(copy, lo, hi, 0);
  }
}

void SharedBlocks::drop_node(std::uint32_t node) {
  const Node& n = nodes_[node];
  nodes_[n.previous].next = n.next;
  nodes_[n.next].previous = n.previous;
  if (n.copy != kRun) {
    if (n.older != kNone) nodes_[n.older].newer = n.newer;
    (n.newer != kNone ? nodes_[n.newer].older : copies_[n.copy].nodes) = n.older;
  }
  free_nodes_.push_back(node);
}

/// Removes the copy's blocks between lo and hi from the queue, wherever they stand in it.
void SharedBlocks::take_out(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi) {
  for (std::uint32_t node = copies_[copy].nodes; node != kNone;) {
    const std::uint32_t older = nodes_[node].older;
    Node& n = nodes_[node];
    const std::uint32_t from = std::max(lo, n.lo), to = std::min(hi, n.hi);
    if (from < to) {
      if (from == n.lo && to == n.hi) {
        drop_node(node);
      } else if (from == n.lo) {
        n.lo = to;
      } else if (to == n.hi) {
        n.hi = from;
      } else {  // the upper part is evicted first
        const std::uint32_t top = n.hi;
        n.hi = from;
        link_range(copy, to, top, node);
      }
    }
    node = older;
  }
}

std::uint32_t SharedBlocks::push_run(std::uint32_t owner, std::uint32_t count) {
  const std::uint32_t tail = nodes_[0].previous;
  queued_ += count;
  run_blocks_ += count;
  if (owner == kNoOwner && tail != kNone && nodes_[tail].copy == kRun && nodes_[tail].lo == kNoOwner) {
    nodes_[tail].hi += count;
    return tail;
  }
  const std::uint32_t node = new_node({.copy = kRun, .lo = owner, .hi = count});
  link_before(node, 0);
  return node;
}

void SharedBlocks::shrink_run(std::uint32_t run, std::uint32_t count) {
  queued_ -= count;
  run_blocks_ -= count;
  if ((nodes_[run].hi -= count) == 0) drop_node(run);
}

void SharedBlocks::name_run_end(std::uint32_t run, std::uint32_t segment, std::uint32_t lo, std::uint32_t hi) {
  std::vector<Range> ranges;
  for_each_new_range(segment, lo, hi, [&](std::uint32_t copy, std::uint32_t from, std::uint32_t to) {
    insert(copy, from, to, 0);
    ranges.push_back({copy, from, to});
  });
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range)
    link_range(range->copy, range->lo, range->hi, run);
  queued_ += hi - lo;
  ++version_;
  shrink_run(run, hi - lo);
}

SharedBlocks::Evicted SharedBlocks::evict(std::uint32_t count) {
  const std::uint32_t head = nodes_[0].next;
  Node& n = nodes_[head];
  if (n.copy == kRun) {
    Evicted out{.owner = n.lo, .count = std::min(count, n.hi)};
    out.run_gone = out.count == n.hi;
    shrink_run(head, out.count);
    return out;
  }
  const std::uint32_t gone = std::min(count, n.hi - n.lo);
  const std::uint32_t copy = n.copy, top = n.hi;
  queued_ -= gone;
  n.hi -= gone;
  if (n.hi == n.lo) drop_node(head);
  forget(copy, top - gone, top);
  return {.count = gone};
}

void SharedBlocks::clear() {
  const std::uint64_t version = version_ + 1;
  *this = SharedBlocks();
  version_ = version;
}

}  // namespace dooly::replica
