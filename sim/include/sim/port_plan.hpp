#pragma once

#include "scenarios/cluster.hpp"
#include "scenarios/placement.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace dooly::sim {

/// A replica as an end of flows.
struct FlowEnd {
  scenario::ReplicaPlace place;
  bool exchanges = true;  ///< false: it never sends or receives, so it needs no ports but its NIC's
};

/// Which links and ports stand for a cluster. A port is where flows begin and end: one kind of way out of a replica.
/// Only links that can saturate exist, so that flows which do not compete do not meet in SimGrid's solver:
///
///   nvlink port: [nvlink]                same node, if it has NVLink
///   nic port:    [nic]                   another node under the same leaf switch, or anywhere if no switch blocks
///   spine port:  [nic, leaf up-link]     another leaf switch of an over-subscribed fat tree
///
/// A replica's ranks move in lock step, so one flow on links as wide as all its GPUs' NICs (NVLinks) together takes as
/// long as one flow per rank would. GPU g of a node with G GPUs and N NICs uses the NICs floor(g N/G) to
/// ceil((g+1) N/G) - 1. Replicas that share NICs share one link of all those NICs, each behind a private one of its own
/// NICs unless they are the same. A replica over several nodes has all their NICs and counts to its first node's leaf.
class PortPlan {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// Full duplex.
  struct Link {
    std::string name;
    double bytes_per_s;
  };
  struct Port {
    std::string name;
    std::vector<std::uint32_t> links;  ///< from the replica outwards
  };
  struct Route {
    std::uint32_t from_port;
    std::uint32_t to_port;
    double latency_s;
  };

  /// `nvlink_bytes_per_s`: of one GPU and direction, for each node group; 0: none. Throws std::invalid_argument if a
  /// place lies outside the cluster or two overlap.
  PortPlan(const scenario::Cluster& cluster, std::span<const double> nvlink_bytes_per_s, std::span<const FlowEnd> ends);

  const std::vector<Link>& links() const { return links_; }
  const std::vector<Port>& ports() const { return ports_; }
  /// The way between two different replicas that exchange. NVLink has no latency of its own here: well below 1 us.
  Route route(std::uint32_t from_replica, std::uint32_t to_replica) const;

 private:
  struct Node {
    std::uint64_t gpus;
    std::uint64_t nics;
    double nic_bytes_per_s;
    double nvlink_bytes_per_s;  ///< of one GPU
    std::uint32_t leaf_link;  ///< kNone: its leaf switch does not block
  };
  struct End {
    std::uint64_t node;
    std::uint32_t nvlink_port = kNone;
    std::uint32_t nic_port = kNone;
    std::uint32_t spine_port = kNone;
  };
  using Replicas = std::span<const std::uint32_t>;

  void add_nodes(const scenario::Cluster& cluster, std::span<const double> nvlink_bytes_per_s);
  void add_leaf_links(const scenario::Fabric& fabric);
  void add_ports(std::span<const FlowEnd> ends, Replicas on_one_node);
  void add_nvlink_ports(std::span<const FlowEnd> ends, Replicas on_one_node);
  void add_nic_ports(std::span<const FlowEnd> ends, Replicas sharing_nics);
  std::uint32_t add_link(std::string name, double bytes_per_s);
  std::uint32_t add_port(std::string name, std::vector<std::uint32_t> links);

  std::vector<Node> nodes_;
  std::vector<End> ends_;
  std::vector<Link> links_;
  std::vector<Port> ports_;
  double link_latency_s_ = 0;
};

}  // namespace dooly::sim
