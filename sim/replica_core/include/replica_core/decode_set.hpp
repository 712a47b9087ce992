#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dooly::replica {

/// The steady decodes of one replica: requests that get exactly one token in every scheduling call. Their state is an
/// offset to a step counter, so that a step costs O(requests that end or need a block in it), not O(requests).
/// Slots are the engine's.
class DecodeSet {
 public:
  explicit DecodeSet(std::uint32_t block_size);

  std::uint64_t step() const { return step_; }          ///< number of scheduling calls made so far
  std::uint32_t count() const { return count_; }
  std::uint64_t context() const { return context_; }    ///< sum of computed tokens
  std::uint64_t context_squares() const { return squares_; }
  std::uint64_t context_cubes() const { return cubes_; }  ///< modulo 2^64
  std::uint32_t longest() const {  ///< computed tokens of the request that has most; 0: none
    if (count_ == 0) return 0;
    if (candidates_stale_) find_candidates();
    return static_cast<std::uint32_t>(candidates_[first_candidate_].base + static_cast<std::int64_t>(step_));
  }
  std::uint32_t computed(std::uint32_t slot) const {
    return static_cast<std::uint32_t>(nodes_[slot].base + static_cast<std::int64_t>(step_));
  }

  /// `computed` tokens now; leaves when it has `last_computed`, which is larger.
  void insert(std::uint32_t slot, std::uint32_t computed, std::uint32_t last_computed);
  void remove(std::uint32_t slot);

  /// Blocks that the next step takes; `ahead` steps later.
  std::uint32_t blocks_needed(std::uint64_t ahead = 0) const { return needs_[(step_ + ahead) % block_size_]; }
  bool needs_block(std::uint32_t slot) const { return nodes_[slot].residue == step_ % block_size_; }

  /// Steps that can be made before some request may reach its end (at least that many; 0: the next step may end one).
  std::uint64_t steps_to_end() const;
  /// Makes `steps` steps, none of which ends a request.
  void advance(std::uint64_t steps);
  /// Makes one step and removes the requests that reach their end with it, appending them to `ended`.
  void advance_and_collect(std::vector<std::uint32_t>& ended);

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  static constexpr std::uint32_t kBuckets = 1024;
  struct Node {
    std::int64_t base = 0;
    std::uint64_t last_step = 0;  ///< the step that computes its last token
    std::uint32_t previous = kNone, next = kNone;
    std::uint32_t residue = 0;
  };
  /// A request that has most tokens once those before it have ended: all that have as many or more end before it.
  struct Candidate {
    std::int64_t base;
    std::uint64_t last_step;
    std::uint32_t slot;
  };
  void unlink(std::uint32_t slot);
  void add_candidate(const Candidate& candidate) const;
  void drop_candidate(std::uint32_t slot);
  void find_candidates() const;

  std::uint32_t block_size_;
  std::uint64_t step_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t context_ = 0;
  std::uint64_t squares_ = 0;
  std::uint64_t cubes_ = 0;
  std::vector<Node> nodes_;
  /// By falling base, which is by rising last step; those before the first have ended. Made anew when it is asked for
  /// after one of them left before its end.
  mutable std::vector<Candidate> candidates_;
  mutable std::size_t first_candidate_ = 0;
  mutable bool candidates_stale_ = false;
  std::vector<std::uint32_t> needs_;  ///< by residue of the step
  std::vector<std::uint32_t> heads_;  ///< wheel of last steps
  std::array<std::uint64_t, kBuckets / 64> used_{};  ///< non-empty buckets
};

}  // namespace dooly::replica
