#include "scenarios/placement.hpp"

#include <gtest/gtest.h>

namespace dooly::scenario {
namespace {

Cluster cluster(std::vector<NodeGroup> groups) {
  Cluster made;
  made.nodes = std::move(groups);
  return made;
}
NodeGroup group(std::string name, std::uint64_t count, std::uint64_t gpus) {
  NodeGroup made;
  made.name = std::move(name);
  made.count = count;
  made.gpus = gpus;
  return made;
}
Pool pool(std::uint64_t replicas, std::uint64_t tp, std::vector<NodeRef> nodes) {
  Pool made;
  made.replicas = replicas;
  made.parallel.tp = tp;
  made.nodes = std::move(nodes);
  return made;
}

using Places = std::vector<ReplicaPlace>;

TEST(Placement, ReplicasFillNodesInOrder) {
  const Placement placement = place_replicas(cluster({group("h", 2, 8)}), {pool(3, 4, {{"h", {}}})});
  EXPECT_EQ(placement.pools[0], (Places{{0, 1, 0, 4}, {0, 1, 4, 4}, {1, 1, 0, 4}}));
  EXPECT_FALSE(placement.unplaced);
}

TEST(Placement, AReplicaThatFitsANodeIsNotSplit) {
  const Placement placement = place_replicas(cluster({group("h", 2, 8)}), {pool(3, 6, {{"h", {}}})});
  EXPECT_EQ(placement.pools[0], (Places{{0, 1, 0, 6}, {1, 1, 0, 6}}));
  ASSERT_TRUE(placement.unplaced);
  EXPECT_EQ(placement.unplaced->placed, 2u);
}

TEST(Placement, LargerReplicasTakeWholeEmptyNodes) {
  const Placement placement =
      place_replicas(cluster({group("h", 4, 8)}), {pool(1, 1, {{"h", {}}}), pool(1, 16, {{"h", {}}})});
  EXPECT_EQ(placement.pools[0], (Places{{0, 1, 0, 1}}));
  EXPECT_EQ(placement.pools[1], (Places{{1, 2, 0, 8}}));
}

TEST(Placement, PoolsShareNodesAndStayInTheirs) {
  const Cluster two = cluster({group("a", 1, 8), group("b", 2, 4)});
  const Placement placement =
      place_replicas(two, {pool(2, 2, {{"b", 1}}), pool(1, 2, {{"a", {}}}), pool(1, 4, {{"b", {}}})});
  EXPECT_EQ(placement.pools[0], (Places{{2, 1, 0, 2}, {2, 1, 2, 2}}));
  EXPECT_EQ(placement.pools[1], (Places{{0, 1, 0, 2}}));
  EXPECT_EQ(placement.pools[2], (Places{{1, 1, 0, 4}}));
}

}  // namespace
}  // namespace dooly::scenario
