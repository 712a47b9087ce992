#pragma once

#include "oracle_store/links.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dooly::profiling {

/// What a driver says of the way between two GPUs.
struct PairReading {
  unsigned nvlink_lanes = 0;        ///< active ones that end at the other GPU or at a switch
  unsigned nvlink_generation = 0;   ///< 0: not known
  bool is_switched = false;         ///< the lanes end at a switch
  unsigned pcie_generation = 0, pcie_width = 0;
  std::string pcie_level;           ///< pix, pxb, phb, node, sys; empty: not known
};

/// "nvlink4x18 via nvswitch", "nvlink3x4", "pcie5x16 phb", "unknown".
std::string link_text(const PairReading& reading);

using store::LinkTexts;

/// Canonical text of the links between the first `ranks` GPUs, and that multicast is off. Equal links are told once, so
/// that 2 and 8 ranks behind one switch are of one environment: "all nvlink4x18 via nvswitch, multicast off"; others by
/// pair: "nvlink3x4 0-1 2-3, pcie4x16 sys 0-2 0-3 1-2 1-3, multicast off".
std::string topology_text(const LinkTexts& links, std::uint32_t ranks);

/// Reads them by NVML; `bus_ids` as the CUDA runtime names the GPUs. "unknown" where the library or an answer is
/// absent.
LinkTexts read_links(const std::vector<std::string>& bus_ids);

}  // namespace dooly::profiling
