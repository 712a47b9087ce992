#pragma once

#include "replica_core/shared_kv.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dooly::replica {

/// Keyed blocks of the run cache and the keyed part of its free queue, in ranges: blocks of one content that are taken,
/// held and freed together cost one step together.
///
/// A *segment* is one chained content; its blocks have indices from its start. Several requests that computed the same
/// content at the same time leave several *copies* of a block; a look-up gives the one inserted first among those still
/// there, so a new block goes behind all copies that hold its index. A *run* is a stretch of keyed blocks that nobody
/// but its owner can look up: a count.
///
/// Free blocks stand in the queue as nodes (ranges, from the highest index to the lowest, or runs); the head is evicted
/// first.
class SharedBlocks {
 public:
  static constexpr std::uint32_t kNone = 0;  ///< no node: the queue's sentinel
  static constexpr std::uint32_t kNoOwner = 0xFFFFFFFFU;
  static constexpr std::uint32_t kNoSegment = 0xFFFFFFFFU;

  /// Blocks lo ... hi-1 of one copy.
  struct Range {
    std::uint32_t copy = 0;
    std::uint32_t lo = 0, hi = 0;
    std::uint32_t size() const { return hi - lo; }
  };

  SharedBlocks();

  // --- segments
  std::uint32_t find_segment(std::uint64_t key) const;
  std::uint32_t segment(std::uint64_t key);  ///< the same, made if needed (give it a block at once)
  /// Cached blocks of the segment from `index` on, at most up to `limit`, that lie in one copy; empty: not cached.
  Range cached_from(std::uint32_t segment, std::uint32_t index, std::uint32_t limit) const;

  // --- blocks
  /// New blocks lo ... hi-1 with one reference each; appends where they are.
  void add(std::uint32_t segment, std::uint32_t lo, std::uint32_t hi, std::vector<Range>& where);
  /// New blocks that nobody holds, to the queue's tail from the last to the first.
  void add_free(std::uint32_t segment, std::uint32_t lo, std::uint32_t hi);
  void reference(const Range& range);  ///< leaves the free queue where it is in it
  std::uint32_t dereference(const Range& range);  ///< from the last to the first; returns how many came free
  std::uint32_t free_in(const Range& range) const;  ///< blocks that nobody holds
  std::uint32_t references(std::uint32_t copy, std::uint32_t index) const { return copies_[copy].references[index]; }
  std::size_t distinct_blocks() const { return distinct_; }
  SharedKv shared() const { return shared_; }

  // --- runs
  std::uint32_t push_run(std::uint32_t owner, std::uint32_t count);  ///< to the tail
  std::uint32_t run_count(std::uint32_t run) const { return nodes_[run].hi; }
  void shrink_run(std::uint32_t run, std::uint32_t count);  ///< takes blocks out of the middle of the queue
  void disown(std::uint32_t run) { nodes_[run].lo = kNoOwner; }
  /// The run's last blocks become blocks lo ... hi-1 of the segment, at their place in the queue.
  void name_run_end(std::uint32_t run, std::uint32_t segment, std::uint32_t lo, std::uint32_t hi);
  std::size_t run_blocks() const { return run_blocks_; }

  // --- eviction
  struct Evicted {
    std::uint32_t owner = kNoOwner;  ///< of a run
    std::uint32_t count = 0;
    bool run_gone = false;
  };
  /// Takes up to `count` blocks from the queue's head node.
  Evicted evict(std::uint32_t count);
  std::size_t queued() const { return queued_; }
  std::uint64_t version() const { return version_; }  ///< changes whenever a look-up may answer differently
  void clear();  ///< forgets everything; every block must be free

 private:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFU;
  static constexpr std::uint32_t kRun = 0xFFFFFFFEU;
  static constexpr std::uint32_t kNoCopy = 0xFFFFFFFFU;
  struct Node {
    std::uint32_t previous = 0, next = 0;  ///< the queue
    std::uint32_t copy = 0;  ///< kRun for a run
    std::uint32_t lo = 0, hi = 0;  ///< a run's owner and count
    std::uint32_t older = 0, newer = 0;  ///< nodes of the same copy
  };
  /// A segment is named by its first copy, which stays until all of its copies are empty.
  struct Copy {
    std::uint64_t key = 0;
    std::uint32_t next = kNoCopy;  ///< the copy after it
    std::uint32_t first = 0;  ///< the segment
    std::uint32_t present = 0;  ///< blocks of all copies (first copy only)
    std::uint32_t nodes = kNone;  ///< newest node of it in the queue
    std::vector<std::uint32_t> references;  ///< by index; kAbsent
    bool holds(std::uint32_t index) const { return index < references.size() && references[index] != kAbsent; }
  };
  bool is_single(std::uint32_t segment) const { return copies_[segment].next == kNoCopy; }
  template <class Visit>
  void for_each_new_range(std::uint32_t segment, std::uint32_t lo, std::uint32_t hi, Visit&& visit);
  std::uint32_t copy_for_new(std::uint32_t segment, std::uint32_t index);
  void insert(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi, std::uint32_t references);
  void forget(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi);
  void take_out(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi);
  std::uint32_t new_copy(std::uint64_t key);
  std::uint32_t new_node(const Node& node);
  void link_before(std::uint32_t node, std::uint32_t next);
  void link_range(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi, std::uint32_t next);
  void push_range(std::uint32_t copy, std::uint32_t lo, std::uint32_t hi);
  void drop_node(std::uint32_t node);
  std::size_t bucket(std::uint64_t key) const { return static_cast<std::size_t>(key) & (index_.size() - 1); }
  void grow_index();
  void erase_segment(std::uint32_t segment);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_nodes_;
  std::vector<Copy> copies_;
  std::vector<std::uint32_t> free_copies_;
  std::vector<std::uint32_t> index_;  ///< open addressing over segments; kNoSegment = empty
  std::size_t live_segments_ = 0;
  std::size_t distinct_ = 0;
  SharedKv shared_;
  std::size_t run_blocks_ = 0;
  std::size_t queued_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace dooly::replica
