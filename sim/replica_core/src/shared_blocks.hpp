#pragma once

#include <cstdint>
#include <vector>

namespace dooly::replica {

/// Free queue and shareable blocks of the run cache. Only blocks whose content somebody else may look up have an entry
/// of their own; a stretch of blocks that nobody else can share is one *run* entry (a count). Entries are named by
/// index; 0 is the queue's sentinel.
class SharedBlocks {
 public:
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::uint32_t kNoOwner = 0xFFFFFFFFU;

  SharedBlocks();

  // --- segments: one per distinct chained content that has blocks here
  /// Segment with this key, kNoSegment if it has no block.
  static constexpr std::uint32_t kNoSegment = 0xFFFFFFFFU;
  std::uint32_t find_segment(std::uint64_t key) const;
  std::uint32_t segment(std::uint64_t key);  ///< the same, made if needed (give it a block at once)
  /// First inserted block for the segment's block `index`; kNone.
  std::uint32_t block(std::uint32_t segment, std::uint32_t index) const {
    const std::vector<std::uint32_t>& blocks = segments_[segment].blocks;
    return index < blocks.size() ? blocks[index] : kNone;
  }
  std::uint32_t add_block(std::uint32_t segment, std::uint32_t index);  ///< with one reference
  std::uint32_t references(std::uint32_t entry) const { return entries_[entry].references; }
  void reference(std::uint32_t entry);    ///< leaves the free queue if it is in it
  bool dereference(std::uint32_t entry);  ///< to the queue's tail when nobody holds it any more; says so
  std::size_t distinct_blocks() const { return distinct_; }

  // --- runs
  std::uint32_t push_run(std::uint32_t owner, std::uint32_t count);  ///< to the tail
  std::uint32_t run_count(std::uint32_t entry) const { return entries_[entry].references; }
  void shrink_run(std::uint32_t entry, std::uint32_t count);         ///< takes blocks out of the middle of the queue
  /// A free block with content goes into the queue right before this run; it is one of the run's blocks.
  void name_run_block(std::uint32_t run, std::uint32_t segment, std::uint32_t index);
  void disown(std::uint32_t entry) { entries_[entry].index = kNoOwner; }
  std::size_t run_blocks() const { return run_blocks_; }

  // --- eviction
  struct Evicted {
    std::uint32_t owner = kNoOwner;  ///< of a run
    std::uint32_t count = 0;
    bool run_gone = false;
  };
  /// Takes up to `count` blocks from the queue's head entry.
  Evicted evict(std::uint32_t count);
  std::size_t queued() const { return queued_; }
  std::uint64_t version() const { return version_; }  ///< changes whenever a look-up may answer differently
  void clear();  ///< forgets everything; every block must be free

 private:
  static constexpr std::uint32_t kRun = 0xFFFFFFFEU;
  struct Entry {
    std::uint32_t previous = 0, next = 0;
    std::uint32_t references = 0;   ///< a run's block count
    std::uint32_t segment = 0;      ///< kRun for a run
    std::uint32_t index = 0;        ///< block index within the segment; a run's owner
    std::uint32_t duplicate = 0;    ///< next block with the same content
  };
  struct Segment {
    std::uint64_t key = 0;
    std::uint32_t present = 0;
    std::vector<std::uint32_t> blocks;
  };
  std::uint32_t new_entry();
  void push_tail(std::uint32_t entry);
  void unlink(std::uint32_t entry);
  void forget_block(std::uint32_t entry);
  std::size_t bucket(std::uint64_t key) const { return static_cast<std::size_t>(key) & (index_.size() - 1); }
  void grow_index();
  void erase_segment(std::uint32_t segment);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
  std::vector<Segment> segments_;
  std::vector<std::uint32_t> free_segments_;
  std::vector<std::uint32_t> index_;  ///< open addressing over segments; kNoSegment = empty
  std::size_t live_segments_ = 0;
  std::size_t distinct_ = 0;
  std::size_t run_blocks_ = 0;
  std::size_t queued_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace dooly::replica
