#include "shared_blocks.hpp"

#include <algorithm>

namespace dooly::replica {

SharedBlocks::SharedBlocks() : entries_(1), index_(16, kNoSegment) {}

// --- segment index: linear probing; keys are already well mixed

std::uint32_t SharedBlocks::find_segment(std::uint64_t key) const {
  for (std::size_t at = bucket(key);; at = (at + 1) & (index_.size() - 1)) {
    const std::uint32_t segment = index_[at];
    if (segment == kNoSegment || segments_[segment].key == key) return segment;
  }
}

std::uint32_t SharedBlocks::segment(std::uint64_t key) {
  const std::uint32_t known = find_segment(key);
  if (known != kNoSegment) return known;
  if ((live_segments_ + 1) * 2 > index_.size()) grow_index();
  std::uint32_t made;
  if (free_segments_.empty()) {
    made = static_cast<std::uint32_t>(segments_.size());
    segments_.emplace_back();
  } else {
    made = free_segments_.back();
    free_segments_.pop_back();
  }
  segments_[made].key = key;
  segments_[made].present = 0;
  segments_[made].blocks.clear();
  std::size_t at = bucket(key);
  while (index_[at] != kNoSegment) at = (at + 1) & (index_.size() - 1);
  index_[at] = made;
  ++live_segments_;
  return made;
}

void SharedBlocks::grow_index() {
  std::vector<std::uint32_t> old(index_.size() * 2, kNoSegment);
  old.swap(index_);
  for (const std::uint32_t segment : old) {
    if (segment == kNoSegment) continue;
    std::size_t at = bucket(segments_[segment].key);
    while (index_[at] != kNoSegment) at = (at + 1) & (index_.size() - 1);
    index_[at] = segment;
  }
}

void SharedBlocks::erase_segment(std::uint32_t segment) {
  const std::size_t mask = index_.size() - 1;
  std::size_t hole = bucket(segments_[segment].key);
  while (index_[hole] != segment) hole = (hole + 1) & mask;
  for (std::size_t at = (hole + 1) & mask; index_[at] != kNoSegment; at = (at + 1) & mask) {  // backward shift
    const std::size_t home = bucket(segments_[index_[at]].key);
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    index_[hole] = index_[at];
    hole = at;
  }
  index_[hole] = kNoSegment;
  segments_[segment].blocks.clear();
  free_segments_.push_back(segment);
  --live_segments_;
}

// --- entries and the free queue

std::uint32_t SharedBlocks::new_entry() {
  if (free_entries_.empty()) {
    entries_.emplace_back();
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t entry = free_entries_.back();
  free_entries_.pop_back();
  return entry;
}

void SharedBlocks::push_tail(std::uint32_t entry) {
  Entry& e = entries_[entry];
  e.previous = entries_[0].previous;
  e.next = 0;
  entries_[e.previous].next = entry;
  entries_[0].previous = entry;
}

void SharedBlocks::unlink(std::uint32_t entry) {
  const Entry& e = entries_[entry];
  entries_[e.previous].next = e.next;
  entries_[e.next].previous = e.previous;
}

std::uint32_t SharedBlocks::add_block(std::uint32_t segment, std::uint32_t index) {
  const std::uint32_t entry = new_entry();
  entries_[entry] = {.references = 1, .segment = segment, .index = index};
  Segment& s = segments_[segment];
  if (s.blocks.size() <= index) s.blocks.resize(index + 1, kNone);
  if (s.blocks[index] == kNone) {
    s.blocks[index] = entry;
    ++s.present;
    ++distinct_;
  } else {
    std::uint32_t last = s.blocks[index];
    while (entries_[last].duplicate != kNone) last = entries_[last].duplicate;
    entries_[last].duplicate = entry;
  }
  ++version_;
  return entry;
}

void SharedBlocks::reference(std::uint32_t entry) {
  if (entries_[entry].references++ > 0) return;
  unlink(entry);
  --queued_;
  ++version_;
}

bool SharedBlocks::dereference(std::uint32_t entry) {
  if (--entries_[entry].references > 0) return false;
  push_tail(entry);
  ++queued_;
  ++version_;
  return true;
}

void SharedBlocks::forget_block(std::uint32_t entry) {
  const Entry& e = entries_[entry];
  Segment& s = segments_[e.segment];
  std::uint32_t& first = s.blocks[e.index];
  if (first == entry) {
    first = e.duplicate;
    if (first == kNone) {
      --distinct_;
      if (--s.present == 0) erase_segment(e.segment);
    }
  } else {
    std::uint32_t before = first;
    while (entries_[before].duplicate != entry) before = entries_[before].duplicate;
    entries_[before].duplicate = e.duplicate;
  }
  ++version_;
}

std::uint32_t SharedBlocks::push_run(std::uint32_t owner, std::uint32_t count) {
  const std::uint32_t last = entries_[0].previous;
  queued_ += count;
  run_blocks_ += count;
  if (owner == kNoOwner && last != 0 && entries_[last].segment == kRun && entries_[last].index == kNoOwner) {
    entries_[last].references += count;
    return last;
  }
  const std::uint32_t entry = new_entry();
  entries_[entry] = {.references = count, .segment = kRun, .index = owner};
  push_tail(entry);
  return entry;
}

void SharedBlocks::shrink_run(std::uint32_t entry, std::uint32_t count) {
  queued_ -= count;
  run_blocks_ -= count;
  if ((entries_[entry].references -= count) > 0) return;
  unlink(entry);
  free_entries_.push_back(entry);
}

void SharedBlocks::name_run_block(std::uint32_t run, std::uint32_t segment, std::uint32_t index) {
  const std::uint32_t entry = add_block(segment, index);
  Entry& e = entries_[entry];
  e.references = 0;
  e.previous = entries_[run].previous;
  e.next = run;
  entries_[e.previous].next = entry;
  entries_[run].previous = entry;
  ++queued_;
  shrink_run(run, 1);
}

SharedBlocks::Evicted SharedBlocks::evict(std::uint32_t count) {
  const std::uint32_t head = entries_[0].next;
  Entry& e = entries_[head];
  if (e.segment == kRun) {
    Evicted out{.owner = e.index, .count = std::min(count, e.references)};
    out.run_gone = out.count == e.references;
    shrink_run(head, out.count);
    return out;
  }
  unlink(head);
  --queued_;
  forget_block(head);
  free_entries_.push_back(head);
  return {.count = 1};
}

void SharedBlocks::clear() {
  const std::uint64_t version = version_ + 1;
  *this = SharedBlocks();
  version_ = version;
}

}  // namespace dooly::replica
