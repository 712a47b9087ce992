// NVML's numbers are those of nvml.h of CUDA 13.
#include "profiling_comm/topology.hpp"
#include "profiling_measure/shared_library.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace dooly::profiling {
namespace {

using Device = void*;

constexpr unsigned kMostLinks = 36;
constexpr int kRemoteIsSwitch = 2;  // NVML_NVLINK_DEVICE_TYPE_SWITCH
constexpr int kPeerByNvlink = 2;    // NVML_P2P_CAPS_INDEX_NVLINK

/// nvmlPciInfo_t
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

/// Generation of NVML_NVLINK_VERSION_…: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0, 6.0.
unsigned generation_of(unsigned version) {
  constexpr std::array<unsigned, 9> kGenerations{0, 1, 2, 2, 3, 3, 4, 5, 6};
  return version < kGenerations.size() ? kGenerations.at(version) : 0;
}

std::string level_text(int level) {
  switch (level) {
    case 0:
    case 10: return "pix";   // one PCIe switch
    case 20: return "pxb";   // several
    case 30: return "phb";   // a host bridge
    case 40: return "node";  // one NUMA node
    case 50: return "sys";   // between sockets
    default: return {};
  }
}

/// Domain, bus and device of "00000000:1B:00.0", however many digits the domain has.
std::string bus_word(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.size() > 12 ? text.substr(text.size() - 12) : text;
}

class LinkReader {
 public:
  LinkReader() : library_("libnvidia-ml.so.1") {
    auto* initialise = library_.find<int()>("nvmlInit_v2");
    works_ = initialise != nullptr && initialise() == 0;
    bind("nvmlDeviceGetHandleByPciBusId_v2", by_bus_);
    bind("nvmlDeviceGetNvLinkState", state_);
    bind("nvmlDeviceGetNvLinkVersion", version_);
    bind("nvmlDeviceGetNvLinkRemoteDeviceType", remote_type_);
    bind("nvmlDeviceGetNvLinkRemotePciInfo_v2", remote_);
    bind("nvmlDeviceGetP2PStatus", peer_status_);
    bind("nvmlDeviceGetTopologyCommonAncestor", ancestor_);
    bind("nvmlDeviceGetMaxPcieLinkGeneration", pcie_generation_);
    bind("nvmlDeviceGetMaxPcieLinkWidth", pcie_width_);
  }

  PairReading pair(const std::string& from_bus, const std::string& to_bus) const {
    PairReading reading;
    Device from = nullptr, to = nullptr;
    if (!works_ || by_bus_ == nullptr || by_bus_(from_bus.c_str(), &from) != 0 || by_bus_(to_bus.c_str(), &to) != 0)
      return reading;
    read_nvlink(from, to, to_bus, reading);
    int level = -1;
    if (ancestor_ != nullptr && ancestor_(from, to, &level) == 0) reading.pcie_level = level_text(level);
    if (pcie_generation_ == nullptr || pcie_generation_(from, &reading.pcie_generation) != 0)
      reading.pcie_generation = 0;
    if (pcie_width_ == nullptr || pcie_width_(from, &reading.pcie_width) != 0) reading.pcie_width = 0;
    return reading;
  }

 private:
  template <typename Function>
  void bind(const char* name, Function*& into) {
    into = library_.find<Function>(name);
  }

  /// Lanes that end at the other GPU; else, where the driver says that both reach each other by NVLink, those that end
  /// at a switch (inside a virtual machine the far end may not be told).
  void read_nvlink(Device from, Device to, const std::string& to_bus, PairReading& reading) const {
    if (state_ == nullptr) return;
    unsigned direct = 0, others = 0;
    for (unsigned link = 0; link < kMostLinks; ++link) {
      int is_active = 0;
      if (state_(from, link, &is_active) != 0 || is_active == 0) continue;
      unsigned version = 0;
      if (version_ != nullptr && version_(from, link, &version) == 0)
        reading.nvlink_generation = generation_of(version);
      PciInfo remote{};
      int type = kRemoteIsSwitch;
      if (remote_type_ != nullptr && remote_type_(from, link, &type) != 0) type = kRemoteIsSwitch;
      const bool is_told = remote_ != nullptr && remote_(from, link, &remote) == 0;
      if (is_told && bus_word(remote.bus_id) == bus_word(to_bus))
        ++direct;
      else if (type != 0)  // of another GPU otherwise
        ++others;
    }
    int status = -1;
    const bool reaches = peer_status_ != nullptr && peer_status_(from, to, kPeerByNvlink, &status) == 0 && status == 0;
    reading.is_switched = direct == 0 && reaches && others > 0;
    reading.nvlink_lanes = reading.is_switched ? others : direct;
  }

  SharedLibrary library_;
  bool works_ = false;
  int (*by_bus_)(const char*, Device*) = nullptr;
  int (*state_)(Device, unsigned, int*) = nullptr;
  int (*version_)(Device, unsigned, unsigned*) = nullptr;
  int (*remote_type_)(Device, unsigned, int*) = nullptr;
  int (*remote_)(Device, unsigned, PciInfo*) = nullptr;
  int (*peer_status_)(Device, Device, int, int*) = nullptr;
  int (*ancestor_)(Device, Device, int*) = nullptr;
  int (*pcie_generation_)(Device, unsigned*) = nullptr;
  int (*pcie_width_)(Device, unsigned*) = nullptr;
};

}  // namespace

LinkTexts read_links(const std::vector<std::string>& bus_ids) {
  const LinkReader reader;
  LinkTexts links(bus_ids.size(), std::vector<std::string>(bus_ids.size()));
  for (std::size_t i = 0; i < bus_ids.size(); ++i)
    for (std::size_t j = i + 1; j < bus_ids.size(); ++j) links[i][j] = link_text(reader.pair(bus_ids[i], bus_ids[j]));
  return links;
}

}  // namespace dooly::profiling
