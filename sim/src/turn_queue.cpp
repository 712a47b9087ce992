#include "sim/turn_queue.hpp"

#include <algorithm>

namespace dooly::sim {

TurnQueue::TurnQueue(std::uint32_t replicas)
    : leaves_(std::bit_ceil(std::max(replicas, 1U))),
      tree_(std::size_t{2} * leaves_, Entry{std::bit_cast<std::uint64_t>(kNever), 0}) {
  for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf) tree_[leaves_ + leaf].replica = leaf;
  for (std::uint32_t node = leaves_ - 1; node > 0; --node) tree_[node].replica = tree_[std::size_t{2} * node].replica;
}

}  // namespace dooly::sim
