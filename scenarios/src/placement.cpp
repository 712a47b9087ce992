#include "scenarios/placement.hpp"

#include <algorithm>

namespace dooly::scenario {
namespace {

/// Fills GPUs of the cluster's nodes, node by node.
class Placer {
 public:
  explicit Placer(const Cluster& cluster) : cluster_(cluster) {
    std::uint64_t nodes = 0;
    for (const NodeGroup& group : cluster.nodes) {
      first_node_.push_back(nodes);
      nodes += group.count;
    }
    used_.assign(nodes, 0);
  }

  std::vector<ReplicaPlace> place(const Pool& pool) {
    std::vector<ReplicaPlace> places;
    places.reserve(pool.replicas);
    for (const NodeRef& ref : pool.nodes) {
      for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) {
        if (cluster_.nodes[i].name != ref.group) continue;
        const std::uint64_t from = first_node_[i] + ref.index.value_or(0);
        const std::uint64_t count = ref.index ? 1 : cluster_.nodes[i].count;
        fill(pool, cluster_.nodes[i].gpus, from, count, places);
      }
    }
    return places;
  }

 private:
  void fill(const Pool& pool, std::uint64_t node_gpus, std::uint64_t from, std::uint64_t count,
            std::vector<ReplicaPlace>& places) {
    const std::uint64_t gpus = pool.parallel.gpus();
    const std::uint64_t span = (gpus + node_gpus - 1) / node_gpus;
    if (span > 1 && gpus % node_gpus != 0) return;
    const std::uint64_t per_node = gpus / span;
    for (std::uint64_t node = from; node + span <= from + count && places.size() < pool.replicas;) {
      const auto first = used_.begin() + static_cast<std::ptrdiff_t>(node);
      const auto last = first + static_cast<std::ptrdiff_t>(span);
      if (std::any_of(first, last, [&](std::uint64_t used) { return used + per_node > node_gpus; })) {
        ++node;
        continue;
      }
      places.push_back({node, span, *first, per_node});
      std::for_each(first, last, [&](std::uint64_t& used) { used += per_node; });
    }
  }

  const Cluster& cluster_;
  std::vector<std::uint64_t> first_node_;
  std::vector<std::uint64_t> used_;  // GPUs, by node
};

}  // namespace

Placement place_replicas(const Cluster& cluster, const std::vector<Pool>& pools) {
  Placement placement;
  Placer placer(cluster);
  for (const Pool& pool : pools) {
    placement.pools.push_back(placer.place(pool));
    const std::uint64_t placed = placement.pools.back().size();
    if (placed < pool.replicas && !placement.unplaced)
      placement.unplaced = Placement::Unplaced{placement.pools.size() - 1, placed};
  }
  return placement;
}

}  // namespace dooly::scenario
