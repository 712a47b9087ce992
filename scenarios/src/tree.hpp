#pragma once

#include "scenarios/document.hpp"
#include "scenarios/scenario.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace dooly::scenario {

/// How a path is written.
using PathText = std::function<std::string(const std::filesystem::path&)>;

/// The scenario in full form, every default written out. Text that YAML would take for something else is `quoted`.
Node to_tree(const Scenario& scenario, const PathText& path_text);

/// Block-style YAML: small maps and lists of plain values on one line. `comment` gives lines to put above the members
/// of the top-level key `pools`.
std::string print_yaml(const Node& root, const std::function<std::vector<std::string>(std::size_t pool)>& comment);

/// One "key.path = value" a line, sorted.
std::string print_sorted(const Node& root);

}  // namespace dooly::scenario
