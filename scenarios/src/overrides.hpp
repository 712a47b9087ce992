#pragma once

#include "scenarios/document.hpp"

#include <string>
#include <vector>

namespace dooly::scenario {

/// One `--set KEY=VALUE`, taken apart.
struct Override {
  Mark mark;                       ///< its source tells which override it is
  std::vector<std::string> steps;  ///< of the key path, engine arguments with underscores
  Node value;
};

/// Takes the overrides apart; bad syntax is a problem.
std::vector<Override> parse_overrides(const std::vector<std::string>& texts, std::vector<Problem>& problems);

/// Puts the value into the normalised scenario tree. Keys follow the schema; members of lists go by name or number.
/// What another of `all` has set is a problem, so that their order does not matter.
void apply_override(Node& scenario, const Override& set, const std::vector<std::string>& all,
                    std::vector<Problem>& problems);

}  // namespace dooly::scenario
