#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dooly::cli {

/// What `dooly list` knows: kinds, and rows of each. The first column is what scenarios write.
struct Listing {
  std::string kind;
  std::string purpose;
  std::vector<std::vector<std::string>> (*rows)(const std::optional<std::filesystem::path>& plugin);
  bool takes_plugin = false;  ///< rows may come from a plug-in library instead
};

const std::vector<Listing>& listings();

}  // namespace dooly::cli
