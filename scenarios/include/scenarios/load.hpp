#pragma once

#include "scenarios/scenario.hpp"

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::scenario {

/// Something wrong with the options of a policy, router or oracle; `option` is empty if it is its name or plug-in.
struct OptionProblem {
  std::string option;
  std::string what;  ///< "must be at most 1, got 3"
};

/// A policy, router or oracle that the scenario names.
struct Component {
  enum class Kind { kPolicy, kRouter, kOracle };
  Kind kind = Kind::kPolicy;
  const std::filesystem::path* plugin = nullptr;  ///< null: built in
  const std::string& name;
  const Options& options;
};

/// What a scenario may name, told by the caller because this room knows no other. An empty list is not checked.
struct Names {
  std::vector<std::string> models;     ///< hub ids; `Meta-` in a name is optional for the user
  std::vector<std::string> gpus;
  std::vector<std::string> policies;   ///< built-in scheduler policies
  std::vector<std::string> routers;    ///< built-in routers
  std::vector<std::string> platforms;  ///< shipped platforms
  std::vector<std::string> platform_terms;  ///< host times that a scenario may give itself
  std::vector<std::filesystem::path> store_directories;  ///< where stores are looked for by name, after the scenario's
  /// The shipped store measured on a GPU, as the absolute path that `oracle: [{kind: profiled, store: …}]` names it by;
  /// empty: none. Asked where a scenario names no oracle. May be empty.
  std::function<std::string(const std::string& gpu)> shipped_store;
  /// Checks a component's options (and that a plug-in loads and has it); asked only where its name is known. May be
  /// empty.
  std::function<std::vector<OptionProblem>(const Component&)> check_options;
};

/// All that is wrong with a scenario: `FILE:LINE:COL: key.path: what, got VALUE; allowed: …`, one a line.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<std::string> messages);
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

/// Parses, expands and validates everything. `overrides` are `key.path=value` as in `--set`. Relative paths in the file
/// start at the file's directory, those in overrides at the working directory. A path that starts with `$DOOLY_DATA/`
/// starts at the directory that this environment variable names. Throws ScenarioError.
Scenario load_scenario(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       const Names& names);

/// The same for text in memory; `file` names it in messages and gives the directory for relative paths.
Scenario parse_scenario(std::string_view text, const std::filesystem::path& file,
                        const std::vector<std::string>& overrides, const Names& names);

}  // namespace dooly::scenario
