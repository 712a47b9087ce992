#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dooly::import_ {

/// Rows or samples that something was noticed about.
struct Finding {
  std::uint64_t count = 0;
  bool dropped = false;               ///< else kept, marked suspect where the reason says so
  std::vector<std::string> examples;  ///< the first few: file:line and the value
};

/// An operator that several models of the profile share.
struct SharedOperator {
  std::string signature;
  std::string operation;             ///< readable: kind, dims, family
  std::vector<std::string> models;   ///< sorted
  std::uint64_t samples = 0;
};

/// What became of a foreign profile.
struct ImportReport {
  std::string format;
  std::vector<std::string> files;    ///< read
  std::map<std::string, std::string> skipped;  ///< files and columns not taken, with why
  std::uint64_t rows = 0;            ///< read, headers not counted
  std::uint64_t samples = 0;         ///< handed to the sink
  std::uint64_t suspects = 0;        ///< of them, marked so
  std::uint64_t signatures = 0;
  std::vector<std::string> environments;       ///< canonical JSON
  std::map<std::string, std::uint64_t> kinds;  ///< samples by operator kind
  std::map<std::string, Finding> findings;     ///< by reason
  std::vector<SharedOperator> shared;          ///< signatures measured for two models or more
  std::vector<std::string> notes;              ///< what was assumed

  /// For people, a few dozen lines.
  std::string text() const;
};

}  // namespace dooly::import_
