#include "sim/port_plan.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace dooly::sim {

namespace {

using scenario::ReplicaPlace;

/// NICs [first, last) of each of its nodes that a replica uses.
struct NicRange {
  std::uint64_t first;
  std::uint64_t last;
  bool operator==(const NicRange&) const = default;
};

NicRange nic_range(const ReplicaPlace& place, std::uint64_t gpus, std::uint64_t nics) {
  const std::uint64_t end_gpu = place.first_gpu + place.gpus;
  return {place.first_gpu * nics / gpus, (end_gpu * nics + gpus - 1) / gpus};
}

/// Replicas by where they sit.
std::vector<std::uint32_t> in_order_of_place(std::span<const FlowEnd> ends) {
  std::vector<std::uint32_t> order(ends.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const ReplicaPlace &left = ends[a].place, &right = ends[b].place;
    return std::pair(left.first_node, left.first_gpu) < std::pair(right.first_node, right.first_gpu);
  });
  return order;
}

/// `before` and `after` are neighbours in order of place.
void check_apart(const ReplicaPlace& before, const ReplicaPlace& after) {
  const bool apart = before.first_node + before.nodes <= after.first_node ||
                     (before.nodes == 1 && after.nodes == 1 && before.first_gpu + before.gpus <= after.first_gpu);
  if (!apart)
    throw std::invalid_argument(fmt::format("two replicas on GPU {} of node {}", after.first_gpu, after.first_node));
}

}  // namespace

PortPlan::PortPlan(const scenario::Cluster& cluster, std::span<const double> nvlink_bytes_per_s,
                   std::span<const FlowEnd> ends)
    : link_latency_s_(cluster.fabric.link_latency_s) {
  add_nodes(cluster, nvlink_bytes_per_s);
  add_leaf_links(cluster.fabric);
  for (const FlowEnd& end : ends) {
    const ReplicaPlace& place = end.place;
    if (place.nodes == 0 || place.first_node + place.nodes > nodes_.size() || place.gpus == 0 ||
        place.first_gpu + place.gpus > nodes_[place.first_node].gpus)
      throw std::invalid_argument(
          fmt::format("a replica on node {}, GPU {}: there is none", place.first_node, place.first_gpu));
    ends_.push_back({.node = place.first_node});
  }
  const std::vector<std::uint32_t> order = in_order_of_place(ends);
  for (std::size_t i = 1; i < order.size(); ++i) check_apart(ends[order[i - 1]].place, ends[order[i]].place);
  for (std::size_t first = 0, last; first < order.size(); first = last) {
    for (last = first + 1; last < order.size() && ends_[order[last]].node == ends_[order[first]].node;) ++last;
    add_ports(ends, Replicas(order).subspan(first, last - first));
  }
}

void PortPlan::add_nodes(const scenario::Cluster& cluster, std::span<const double> nvlink_bytes_per_s) {
  if (nvlink_bytes_per_s.size() != cluster.nodes.size())
    throw std::invalid_argument("NVLink bandwidths and node groups differ in number");
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const scenario::NodeGroup& group = cluster.nodes[i];
    const double nic_bytes_per_s =
        std::min(group.nics.bytes_per_s, cluster.fabric.link_bytes_per_s.value_or(group.nics.bytes_per_s));
    if (group.gpus == 0 || group.nics.count == 0 || !(nic_bytes_per_s > 0))
      throw std::invalid_argument(fmt::format("node group {} lacks GPUs or NICs", group.name));
    nodes_.insert(nodes_.end(), group.count,
                  Node{group.gpus, group.nics.count, nic_bytes_per_s, nvlink_bytes_per_s[i], kNone});
  }
}

void PortPlan::add_leaf_links(const scenario::Fabric& fabric) {
  const std::uint64_t size = fabric.nodes_per_leaf;
  const bool blocks = fabric.topology == scenario::Fabric::Topology::kFatTree && fabric.oversubscription > 1;
  if (!blocks || nodes_.size() <= size) return;  // a single leaf needs no up-link
  for (std::size_t first = 0; first < nodes_.size(); first += size) {
    const auto leaf = std::span(nodes_).subspan(first, std::min<std::size_t>(size, nodes_.size() - first));
    double nics_bytes_per_s = 0;
    for (const Node& node : leaf) nics_bytes_per_s += static_cast<double>(node.nics) * node.nic_bytes_per_s;
    const std::uint32_t link =
        add_link(fmt::format("leaf{}", first / size), nics_bytes_per_s / fabric.oversubscription);
    for (Node& node : leaf) node.leaf_link = link;
  }
}

void PortPlan::add_ports(std::span<const FlowEnd> ends, Replicas on_one_node) {
  add_nvlink_ports(ends, on_one_node);
  const Node& node = nodes_[ends_[on_one_node.front()].node];
  for (std::size_t first = 0, last; first < on_one_node.size(); first = last) {
    std::uint64_t used = nic_range(ends[on_one_node[first]].place, node.gpus, node.nics).last;
    for (last = first + 1; last < on_one_node.size(); ++last) {
      const NicRange range = nic_range(ends[on_one_node[last]].place, node.gpus, node.nics);
      if (range.first >= used) break;
      used = range.last;
    }
    add_nic_ports(ends, on_one_node.subspan(first, last - first));
  }
}

void PortPlan::add_nvlink_ports(std::span<const FlowEnd> ends, Replicas on_one_node) {
  const double bytes_per_s = nodes_[ends_[on_one_node.front()].node].nvlink_bytes_per_s;
  const auto exchanges = [&](std::uint32_t replica) { return ends[replica].exchanges; };
  if (!(bytes_per_s > 0) || std::count_if(on_one_node.begin(), on_one_node.end(), exchanges) < 2) return;
  for (const std::uint32_t replica : on_one_node) {
    if (!ends[replica].exchanges) continue;
    const std::string name = fmt::format("r{}.nvlink", replica);
    const double all_gpus = static_cast<double>(ends[replica].place.gpus) * bytes_per_s;
    ends_[replica].nvlink_port = add_port(name, {add_link(name, all_gpus)});
  }
}

void PortPlan::add_nic_ports(std::span<const FlowEnd> ends, Replicas sharing_nics) {
  const Node& node = nodes_[ends_[sharing_nics.front()].node];
  const auto range_of = [&](std::uint32_t replica) { return nic_range(ends[replica].place, node.gpus, node.nics); };
  const NicRange all{range_of(sharing_nics.front()).first, range_of(sharing_nics.back()).last};
  const auto width = [&](const NicRange& range) {
    return static_cast<double>(range.last - range.first) * node.nic_bytes_per_s;
  };
  const bool shared = sharing_nics.size() > 1;
  const std::uint32_t shared_link =
      shared
          ? add_link(fmt::format("n{}.nic{}-{}", ends_[sharing_nics.front()].node, all.first, all.last - 1), width(all))
          : kNone;
  for (const std::uint32_t replica : sharing_nics) {
    std::vector<std::uint32_t> links;
    const std::string name = fmt::format("r{}.nic", replica);
    const NicRange own = range_of(replica);
    const double on_all_nodes = width(own) * static_cast<double>(ends[replica].place.nodes);
    if (!shared || own != all) links.push_back(add_link(name, on_all_nodes));
    if (shared) links.push_back(shared_link);
    ends_[replica].nic_port = add_port(name, links);
    if (node.leaf_link == kNone || !ends[replica].exchanges) continue;
    links.push_back(node.leaf_link);
    ends_[replica].spine_port = add_port(fmt::format("r{}.spine", replica), std::move(links));
  }
}

std::uint32_t PortPlan::add_link(std::string name, double bytes_per_s) {
  links_.push_back({std::move(name), bytes_per_s});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

std::uint32_t PortPlan::add_port(std::string name, std::vector<std::uint32_t> links) {
  ports_.push_back({std::move(name), std::move(links)});
  return static_cast<std::uint32_t>(ports_.size() - 1);
}

PortPlan::Route PortPlan::route(std::uint32_t from_replica, std::uint32_t to_replica) const {
  const End &from = ends_.at(from_replica), &to = ends_.at(to_replica);
  if (from_replica == to_replica) throw std::logic_error(fmt::format("replica {} sends to itself", from_replica));
  if (from.node == to.node && from.nvlink_port != kNone && to.nvlink_port != kNone)
    return {from.nvlink_port, to.nvlink_port, 0};
  if (from.spine_port != kNone && to.spine_port != kNone && nodes_[from.node].leaf_link != nodes_[to.node].leaf_link)
    return {from.spine_port, to.spine_port, link_latency_s_};
  return {from.nic_port, to.nic_port, link_latency_s_};
}

}  // namespace dooly::sim
