#pragma once

#include "scenarios/load.hpp"
#include "scenarios/scenario.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::scenario {

/// Lines (without `#`) to print as comments above a part of the explained scenario: the caller's derived figures.
struct ExplainNotes {
  std::vector<std::string> scenario;                                   ///< at the top
  std::function<std::vector<std::string>(std::size_t pool)> pool;      ///< above each pool; may be empty
};

/// The scenario as a complete YAML file: every default written out, absolute paths. Loading it gives an equal Scenario.
std::string explain(const Scenario& scenario, const ExplainNotes& notes = {});

/// Canonical text for hashing: as `explain`, but keys sorted and every path replaced by `path_token(path)`, typically
/// the hash of the file's content.
std::string resolved_text(const Scenario& scenario,
                          const std::function<std::string(const std::filesystem::path&)>& path_token);

/// A file that the scenario reads, and the key that names it.
struct InputFile {
  std::string key;
  std::filesystem::path path;
};
/// In the order of the scenario; a file used twice stands twice.
std::vector<InputFile> input_files(const Scenario& scenario);

/// JSON Schema, draft 2020-12, of the scenario format.
std::string json_schema();

/// docs/scenario-reference.md.
std::string reference_markdown();

/// A commented scenario to start from (`dooly init`).
std::string init_template();

/// The same from a command line `vllm serve MODEL --flags…`: known flags become keys; the workload fits the longest
/// context: that of `--max-model-len`, else what `longest_context` says of the model (nothing if it does not know it).
/// Throws ScenarioError that names every flag it cannot translate, or what `names` does not hold.
std::string init_from_vllm(
    std::string_view command, const Names& names = {},
    const std::function<std::optional<std::uint64_t>(const std::string& model)>& longest_context = {});

}  // namespace dooly::scenario
