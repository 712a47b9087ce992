#pragma once

#include "scenarios/scenario.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace dooly::scenario {

/// Where one replica sits. Nodes are numbered over all groups of the cluster in their order.
struct ReplicaPlace {
  std::uint64_t first_node = 0;
  std::uint64_t nodes = 1;      ///< consecutive nodes
  std::uint64_t first_gpu = 0;  ///< on the first node
  std::uint64_t gpus = 1;       ///< on each node
  bool operator==(const ReplicaPlace&) const = default;
};

/// Places of every pool's replicas, [pool][replica]. Pools in order, replicas fill the pool's nodes in order; a replica
/// that fits a node sits inside one, a larger one spans whole, empty, consecutive nodes of one group.
/// `unplaced`: the first pool that does not fit, and how many of its replicas found room.
struct Placement {
  struct Unplaced {
    std::size_t pool = 0;
    std::uint64_t placed = 0;
  };
  std::vector<std::vector<ReplicaPlace>> pools;
  std::optional<Unplaced> unplaced;
};
Placement place_replicas(const Cluster& cluster, const std::vector<Pool>& pools);

}  // namespace dooly::scenario
