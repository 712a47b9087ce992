#include "profiling_comm/topology.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace dooly::profiling {
namespace {

LinkTexts links_of(std::uint32_t gpus, const std::function<std::string(std::uint32_t, std::uint32_t)>& link) {
  LinkTexts links(gpus, std::vector<std::string>(gpus));
  for (std::uint32_t i = 0; i < gpus; ++i)
    for (std::uint32_t j = i + 1; j < gpus; ++j) links[i][j] = link(i, j);
  return links;
}

TEST(Topology, ALinkIsNamedByItsLanesOrItsPcieLevel) {
  EXPECT_EQ(link_text({.nvlink_lanes = 18, .nvlink_generation = 4, .is_switched = true, .pcie_level = "sys"}),
            "nvlink4x18 via nvswitch");
  EXPECT_EQ(link_text({.nvlink_lanes = 4, .nvlink_generation = 3, .pcie_level = "sys"}), "nvlink3x4");
  EXPECT_EQ(link_text({.pcie_generation = 5, .pcie_width = 16, .pcie_level = "phb"}), "pcie5x16 phb");
  EXPECT_EQ(link_text({.pcie_level = "sys"}), "pcie sys");
  EXPECT_EQ(link_text({}), "unknown");
}

TEST(Topology, EqualLinksAreOneTextForAnyNumberOfRanks) {
  const auto links = links_of(8, [](auto, auto) { return "nvlink4x18 via nvswitch"; });
  EXPECT_EQ(topology_text(links, 2), "all nvlink4x18 via nvswitch, multicast off");
  EXPECT_EQ(topology_text(links, 8), topology_text(links, 2));
}

TEST(Topology, DifferentLinksAreToldByPair) {
  const auto links = links_of(4, [](auto i, auto j) { return i / 2 == j / 2 ? "nvlink3x4" : "pcie4x16 sys"; });
  EXPECT_EQ(topology_text(links, 4), "nvlink3x4 0-1 2-3, pcie4x16 sys 0-2 0-3 1-2 1-3, multicast off");
  EXPECT_EQ(topology_text(links, 2), "all nvlink3x4, multicast off");
}

}  // namespace
}  // namespace dooly::profiling
