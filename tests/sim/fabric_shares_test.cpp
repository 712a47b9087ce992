// Random clusters and flows against a fluid model of our own. Every test starts SimGrid.
#include "sim/fabric.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace dooly::sim {
namespace {

struct FluidFlow {
  double start_s = 0;  ///< enters the links
  double bytes = 0;
  std::vector<std::size_t> links;
  double rate = 0;
  double end_s = kNever;
};

/// Max-min fair rates by progressive filling: the tightest link fixes its flows' rates, until all are fixed.
void share(std::vector<FluidFlow*>& active, std::vector<double> free_bytes_per_s) {
  std::vector<FluidFlow*> open = active;
  while (!open.empty()) {
    std::vector<int> crossing(free_bytes_per_s.size(), 0);
    for (const FluidFlow* flow : open)
      for (const std::size_t link : flow->links) ++crossing[link];
    std::size_t tightest = 0;
    double least = kNever;
    for (std::size_t link = 0; link < crossing.size(); ++link) {
      const double fair = crossing[link] > 0 ? free_bytes_per_s[link] / crossing[link] : kNever;
      if (fair < least) least = fair, tightest = link;
    }
    std::vector<FluidFlow*> rest;
    for (FluidFlow* flow : open) {
      if (std::find(flow->links.begin(), flow->links.end(), tightest) == flow->links.end()) {
        rest.push_back(flow);
        continue;
      }
      flow->rate = least;
      for (const std::size_t link : flow->links) free_bytes_per_s[link] -= least;
    }
    open = std::move(rest);
  }
}

/// Sets every flow's end_s.
void run_fluid(std::vector<FluidFlow>& flows, const std::vector<double>& bytes_per_s) {
  std::vector<FluidFlow*> waiting, active;
  for (FluidFlow& flow : flows) waiting.push_back(&flow);
  std::sort(waiting.begin(), waiting.end(), [](auto* a, auto* b) { return a->start_s > b->start_s; });
  double now_s = 0;
  while (!waiting.empty() || !active.empty()) {
    share(active, bytes_per_s);
    double next_s = waiting.empty() ? kNever : waiting.back()->start_s;
    for (const FluidFlow* flow : active) next_s = std::min(next_s, now_s + flow->bytes / flow->rate);
    for (FluidFlow* flow : active) flow->bytes -= flow->rate * (next_s - now_s);
    now_s = next_s;
    std::erase_if(active, [&](FluidFlow* flow) {
      if (flow->bytes > 1) return false;  // a byte takes less than a nanosecond
      flow->end_s = now_s;
      return true;
    });
    while (!waiting.empty() && waiting.back()->start_s <= now_s) {
      active.push_back(waiting.back());
      waiting.pop_back();
    }
  }
}

/// A few node groups, replicas of 1, 2 or 4 GPUs.
PortPlan random_plan(std::mt19937_64& random, std::vector<FlowEnd>& ends) {
  scenario::Cluster cluster;
  if (random() % 2 == 0) {
    cluster.fabric.topology = scenario::Fabric::Topology::kFatTree;
    cluster.fabric.nodes_per_leaf = 2 + random() % 3;
    cluster.fabric.oversubscription = static_cast<double>(1 + random() % 4);
  }
  std::vector<double> nvlink;
  std::uint64_t first_node = 0;
  for (int g = 0; g < 2; ++g) {
    scenario::NodeGroup group;
    group.count = 2 + random() % 3;
    group.nics = {.count = std::uint64_t{1} << random() % 4, .bytes_per_s = random() % 2 == 0 ? 25e9 : 50e9};
    const std::uint64_t tp = std::uint64_t{1} << random() % 3;
    for (std::uint64_t node = first_node; node < first_node + group.count; ++node)
      for (std::uint64_t gpu = 0; gpu < group.gpus; gpu += tp)
        ends.push_back({.place = {.first_node = node, .nodes = 1, .first_gpu = gpu, .gpus = tp}});
    first_node += group.count;
    cluster.nodes.push_back(group);
    nvlink.push_back(random() % 3 == 0 ? 0 : 450e9);
  }
  return {cluster, nvlink, ends};
}

class Ends : public PumpClient, public FlowListener {
 public:
  explicit Ends(std::size_t flows) : end_s(flows, kNever) {}
  void on_arrival(double) override {}
  double on_turn(std::uint32_t, double) override { return kNever; }
  void flow_ended(std::uint64_t tag, double now_s) override { end_s[tag] = now_s; }
  std::vector<double> end_s;
};

class FabricShares : public testing::TestWithParam<int> {};

TEST_P(FabricShares, AgreeWithAFluidModel) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  std::vector<FlowEnd> replicas;
  PortPlan plan = random_plan(random, replicas);
  std::vector<double> bytes_per_s;  // up and down of each link
  for (const PortPlan::Link& link : plan.links()) bytes_per_s.insert(bytes_per_s.end(), 2, link.bytes_per_s);

  constexpr std::size_t kFlows = 300;
  Ends ends(kFlows);
  EventPump pump(0, ends);
  Fabric fabric(std::move(plan), pump);
  std::vector<FluidFlow> expected(kFlows);
  for (std::size_t i = 0; i < kFlows; ++i) {
    const auto from = static_cast<std::uint32_t>(random() % replicas.size());
    const auto to = static_cast<std::uint32_t>((from + 1 + random() % (replicas.size() - 1)) % replicas.size());
    const std::uint64_t bytes = 1 + random() % 1'000'000'000;
    const double start_s = static_cast<double>(random() % 1000) * 1e-4;
    const PortPlan::Route route = fabric.plan().route(from, to);
    expected[i] = {.start_s = start_s + route.latency_s, .bytes = static_cast<double>(bytes), .links = {}};
    for (const auto link : fabric.plan().ports()[route.from_port].links) expected[i].links.push_back(2 * link);
    for (const auto link : fabric.plan().ports()[route.to_port].links) expected[i].links.push_back(2 * link + 1);
    fabric.start_flow(from, to, bytes, start_s, ends, i);
  }
  pump.run();
  run_fluid(expected, bytes_per_s);
  for (std::size_t i = 0; i < kFlows; ++i) EXPECT_NEAR(ends.end_s[i], expected[i].end_s, 1e-7) << "flow " << i;
  EXPECT_GT(fabric.stats().max_concurrent, 10U);
}
INSTANTIATE_TEST_SUITE_P(Seeds, FabricShares, testing::Range(1, 13));

}  // namespace
}  // namespace dooly::sim
