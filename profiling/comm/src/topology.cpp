#include "profiling_comm/topology.hpp"

#include <fmt/format.h>

#include <map>

namespace dooly::profiling {

std::string link_text(const PairReading& reading) {
  const auto number = [](unsigned value) { return value > 0 ? fmt::format("{}", value) : std::string(); };
  if (reading.nvlink_lanes > 0)
    return fmt::format("nvlink{}x{}{}", number(reading.nvlink_generation), reading.nvlink_lanes,
                       reading.is_switched ? " via nvswitch" : "");
  if (reading.pcie_level.empty()) return "unknown";
  return fmt::format("pcie{}{} {}", number(reading.pcie_generation),
                     reading.pcie_width > 0 ? fmt::format("x{}", reading.pcie_width) : "", reading.pcie_level);
}

std::string topology_text(const LinkTexts& links, std::uint32_t ranks) {
  std::map<std::string, std::string> pairs;  // by link
  for (std::uint32_t i = 0; i < ranks && i < links.size(); ++i)
    for (std::uint32_t j = i + 1; j < ranks && j < links[i].size(); ++j)
      pairs[links[i][j]] += fmt::format(" {}-{}", i, j);
  std::string text;
  for (const auto& [link, which] : pairs)
    text += pairs.size() == 1 ? fmt::format("all {}, ", link) : fmt::format("{}{}, ", link, which);
  return text + "multicast off";
}

}  // namespace dooly::profiling
