#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dooly::oracle {

/// Where samples were measured: part of a sample's key, not of the signature. Whether samples of one environment may
/// stand for another is a question the caller asks.
struct Environment {
  std::string gpu;                 ///< name in the GPU table, else as the driver says
  std::uint32_t multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::string driver;              ///< empty: not known (imported tables)
  std::string cuda;                ///< major version
  std::map<std::string, std::string> libraries;  ///< engine and kernel libraries with versions
  std::string topology;            ///< for collectives: canonical text of the links between the ranks; else empty
  std::string source;              ///< "measured", or the imported table's name and version
  bool operator==(const Environment&) const = default;
};

/// Canonical JSON (as canonical_json of a key) and its SHA-256 in hex, which names the environment in a store.
std::string canonical_json(const Environment& environment);
std::string environment_id(const Environment& environment);
Environment parse_environment(std::string_view json);

}  // namespace dooly::oracle
