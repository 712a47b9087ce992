#include "sim/port_plan.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dooly::sim {
namespace {

scenario::Cluster cluster_of(std::uint64_t nodes, std::uint64_t gpus, std::uint64_t nics) {
  scenario::NodeGroup group;
  group.name = "h";
  group.count = nodes;
  group.gpus = gpus;
  group.nics = {.count = nics, .bytes_per_s = 50e9};
  return {.fabric = {}, .nodes = {group}};
}

FlowEnd on(std::uint64_t node, std::uint64_t first_gpu, std::uint64_t gpus, std::uint64_t nodes = 1) {
  return {.place = {.first_node = node, .nodes = nodes, .first_gpu = first_gpu, .gpus = gpus}};
}

PortPlan plan_of(const scenario::Cluster& cluster, const std::vector<FlowEnd>& ends, double nvlink = 450e9) {
  return {cluster, std::vector<double>(cluster.nodes.size(), nvlink), ends};
}

/// "name:GB/s …" of the links of a port, from the replica outwards.
std::string links_of(const PortPlan& plan, std::uint32_t port) {
  std::string text;
  for (const std::uint32_t link : plan.ports()[port].links)
    text +=
        fmt::format("{}{}:{}", text.empty() ? "" : " ", plan.links()[link].name, plan.links()[link].bytes_per_s / 1e9);
  return text;
}

TEST(PortPlan, AReplicaHasTheNicsOfItsGpusTogether) {
  const PortPlan plan = plan_of(cluster_of(2, 8, 8), {on(0, 0, 8), on(1, 0, 2), on(1, 2, 4)});
  EXPECT_EQ(links_of(plan, plan.route(0, 1).from_port), "r0.nic:400");
  EXPECT_EQ(links_of(plan, plan.route(0, 1).to_port), "r1.nic:100");
  EXPECT_EQ(links_of(plan, plan.route(0, 2).to_port), "r2.nic:200");
  EXPECT_DOUBLE_EQ(plan.route(0, 1).latency_s, 2e-6);
}

TEST(PortPlan, WithinANodeFlowsTakeNvLinkWithoutLatency) {
  const PortPlan plan = plan_of(cluster_of(1, 8, 8), {on(0, 0, 2), on(0, 2, 4)});
  EXPECT_EQ(links_of(plan, plan.route(0, 1).from_port), "r0.nvlink:900");
  EXPECT_EQ(links_of(plan, plan.route(0, 1).to_port), "r1.nvlink:1800");
  EXPECT_EQ(plan.route(0, 1).latency_s, 0);
}

TEST(PortPlan, WithoutNvLinkNeighboursUseTheirNics) {
  const PortPlan plan = plan_of(cluster_of(1, 8, 8), {on(0, 0, 2), on(0, 2, 4)}, 0);
  EXPECT_EQ(links_of(plan, plan.route(0, 1).from_port), "r0.nic:100");
  EXPECT_EQ(plan.ports().size(), 2U);
}

TEST(PortPlan, ReplicasThatExchangeNothingGetNoNvLinkPort) {
  std::vector<FlowEnd> ends{on(0, 0, 2), on(0, 2, 4)};
  ends[0].exchanges = false;
  EXPECT_EQ(plan_of(cluster_of(1, 8, 8), ends).ports().size(), 2U);
}

TEST(PortPlan, GpusThatShareANicShareOneLink) {
  const PortPlan plan = plan_of(cluster_of(2, 8, 4), {on(0, 0, 1), on(0, 1, 1), on(0, 2, 1), on(1, 0, 8)});
  EXPECT_EQ(links_of(plan, plan.route(0, 3).from_port), "n0.nic0-0:50");
  EXPECT_EQ(links_of(plan, plan.route(1, 3).from_port), "n0.nic0-0:50");
  EXPECT_EQ(links_of(plan, plan.route(2, 3).from_port), "r2.nic:50");
  EXPECT_EQ(links_of(plan, plan.route(0, 3).to_port), "r3.nic:200");
}

TEST(PortPlan, NicsSharedInPartStayLimitedToEachReplicasOwn) {
  // 8 GPUs, 3 NICs: GPU 0-1 use NIC 0, GPU 2-3 NICs 0-1, GPU 4-5 NICs 1-2.
  const PortPlan plan = plan_of(cluster_of(2, 8, 3), {on(0, 0, 2), on(0, 2, 2), on(0, 4, 2), on(1, 0, 8)});
  EXPECT_EQ(links_of(plan, plan.route(0, 3).from_port), "r0.nic:50 n0.nic0-2:150");
  EXPECT_EQ(links_of(plan, plan.route(1, 3).from_port), "r1.nic:100 n0.nic0-2:150");
  EXPECT_EQ(links_of(plan, plan.route(2, 3).from_port), "r2.nic:100 n0.nic0-2:150");
}

TEST(PortPlan, MoreNicsThanGpusAddUp) {
  const PortPlan plan = plan_of(cluster_of(2, 4, 8), {on(0, 0, 1), on(1, 0, 4)});
  EXPECT_EQ(links_of(plan, plan.route(0, 1).from_port), "r0.nic:100");
}

TEST(PortPlan, AReplicaOverSeveralNodesHasAllTheirNics) {
  const PortPlan plan = plan_of(cluster_of(4, 8, 8), {on(0, 0, 8, 2), on(2, 0, 8, 2)});
  EXPECT_EQ(links_of(plan, plan.route(0, 1).from_port), "r0.nic:800");
}

TEST(PortPlan, ANicIsNoFasterThanTheFabricsLink) {
  scenario::Cluster cluster = cluster_of(2, 8, 8);
  cluster.fabric.link_bytes_per_s = 12.5e9;
  const PortPlan plan = plan_of(cluster, {on(0, 0, 8), on(1, 0, 1)});
  EXPECT_EQ(links_of(plan, plan.route(0, 1).from_port), "r0.nic:100");
}

TEST(PortPlan, OnlyOverSubscribedLeavesHaveUpLinks) {
  scenario::Cluster cluster = cluster_of(5, 8, 8);
  cluster.fabric.topology = scenario::Fabric::Topology::kFatTree;
  cluster.fabric.nodes_per_leaf = 2;
  const std::vector<FlowEnd> ends{on(0, 0, 8), on(1, 0, 8), on(2, 0, 8), on(4, 0, 8)};
  EXPECT_EQ(plan_of(cluster, ends).links().size(), 4U);  // not blocking: NICs only
  cluster.fabric.oversubscription = 4;
  const PortPlan plan = plan_of(cluster, ends);
  EXPECT_EQ(links_of(plan, plan.route(0, 1).from_port), "r0.nic:400");  // same leaf
  EXPECT_EQ(links_of(plan, plan.route(0, 2).from_port), "r0.nic:400 leaf0:200");
  EXPECT_EQ(links_of(plan, plan.route(0, 2).to_port), "r2.nic:400 leaf1:200");
  EXPECT_EQ(links_of(plan, plan.route(2, 3).to_port), "r3.nic:400 leaf2:100");  // the last leaf has one node
  cluster.fabric.nodes_per_leaf = 8;
  EXPECT_EQ(plan_of(cluster, ends).links().size(), 4U);  // one leaf: nothing leaves it
}

TEST(PortPlan, PlacesOutsideTheClusterOrOverEachOtherAreRefused) {
  const scenario::Cluster cluster = cluster_of(2, 8, 8);
  EXPECT_THROW(plan_of(cluster, {on(2, 0, 1)}), std::invalid_argument);
  EXPECT_THROW(plan_of(cluster, {on(1, 0, 8, 2)}), std::invalid_argument);
  EXPECT_THROW(plan_of(cluster, {on(0, 7, 2)}), std::invalid_argument);
  EXPECT_THROW(plan_of(cluster, {on(0, 0, 2), on(0, 1, 2)}), std::invalid_argument);
  EXPECT_THROW(plan_of(cluster, {on(1, 0, 1), on(0, 0, 8, 2)}), std::invalid_argument);
  EXPECT_THROW(PortPlan(cluster, {}, {}), std::invalid_argument);
}

TEST(PortPlan, NobodySendsToItself) {
  EXPECT_THROW(plan_of(cluster_of(1, 8, 8), {on(0, 0, 1)}).route(0, 0), std::logic_error);
}

}  // namespace
}  // namespace dooly::sim
