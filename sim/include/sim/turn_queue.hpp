#pragma once

#include "sim/event.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dooly::sim {

/// When each replica has its next turn: a tournament over all replicas, earliest first, equal times by replica number.
/// `set` plays one path from leaf to root, whose loads do not depend on each other and whose matches need no branch, so
/// it costs about a nanosecond a level; looking at the winner is free.
class TurnQueue {
 public:
  /// All turns at kNever.
  explicit TurnQueue(std::uint32_t replicas);

  double first_time_s() const { return std::bit_cast<double>(tree_[1].time_bits); }
  std::uint32_t first_replica() const { return tree_[1].replica; }
  double time_s(std::uint32_t replica) const { return std::bit_cast<double>(tree_[leaves_ + replica].time_bits); }

  /// `time_s` must not be negative or NaN.
  void set(std::uint32_t replica, double time_s) {
    Entry winner{std::bit_cast<std::uint64_t>(time_s + 0.0), replica};  // -0 becomes 0
    std::uint32_t node = leaves_ + replica;
    tree_[node] = winner;
    while (node > 1) {
      const Entry& rival = tree_[node ^ 1];
      // The left one of two has the smaller numbers: it wins a tie. Masks, because g++ would make branches of ?:.
      const std::uint64_t lost = -std::uint64_t{rival.time_bits < winner.time_bits + (node & 1)};
      winner.time_bits ^= (winner.time_bits ^ rival.time_bits) & lost;
      winner.replica ^= (winner.replica ^ rival.replica) & static_cast<std::uint32_t>(lost);
      node >>= 1;
      tree_[node] = winner;
    }
  }

 private:
  /// Times that are not negative sort like the integers of their bits.
  struct Entry {
    std::uint64_t time_bits;
    std::uint32_t replica;
  };
  std::uint32_t leaves_;  ///< a power of two
  std::vector<Entry> tree_;  ///< node n has children 2n and 2n + 1; the root is 1, replica r is leaves_ + r
};

}  // namespace dooly::sim
