#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dooly::scenario {

/// The network between nodes. Every node hangs on it with its NICs; a NIC is as fast as the slower of itself and
/// `link`.
struct Fabric {
  enum class Topology { kStar, kFatTree };  ///< star: one switch that never blocks
  Topology topology = Topology::kStar;
  std::optional<double> link_bytes_per_s;   ///< of one port and direction; unset: as the NICs
  double link_latency_s = 2e-6;             ///< one way, node to node
  /// Fat tree: a leaf switch's nodes can send `oversubscription` times what its up-links carry (and receive likewise).
  double oversubscription = 1;
  std::uint64_t nodes_per_leaf = 16;  ///< fat tree: consecutive nodes, counted over all groups in order
  bool operator==(const Fabric&) const = default;
};

struct Nics {
  std::uint64_t count = 8;
  double bytes_per_s = 50e9;  ///< of one NIC and direction
  bool operator==(const Nics&) const = default;
};

/// `count` equal machines, called name.0 to name.(count - 1).
struct NodeGroup {
  std::string name;
  std::uint64_t count = 1;
  std::string gpu;  ///< a name of the GPU table
  std::uint64_t gpus = 8;
  std::optional<double> nvlink_bytes_per_s;  ///< of one GPU and direction; unset: the GPU table's
  std::optional<double> nvlink_latency_s;  ///< of one message; set: collectives reach the bandwidth above in full
  Nics nics;
  bool operator==(const NodeGroup&) const = default;
};

struct Cluster {
  Fabric fabric;
  std::vector<NodeGroup> nodes;  ///< not empty, names unique
  bool operator==(const Cluster&) const = default;
};

/// Part of a scenario later; refused for now, so the list is empty.
struct FaultSpec {
  bool operator==(const FaultSpec&) const = default;
};

}  // namespace dooly::scenario
