#include "scenarios/load.hpp"

#include "bind.hpp"
#include "check.hpp"
#include "expand.hpp"
#include "overrides.hpp"
#include "reader.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

namespace dooly::scenario {
namespace {

std::string joined(const std::vector<std::string>& messages) {
  std::string text;
  for (const std::string& message : messages) {
    text += text.empty() ? "" : "\n";
    text += message;
  }
  return text;
}

/// Problems as the user reads them: in the order of the file, then of the overrides, each place and fault once.
[[noreturn]] void raise(std::vector<Problem> problems, const std::string& file,
                        const std::vector<std::string>& overrides) {
  const auto place = [](const Problem& problem) {
    return std::tuple(problem.mark.source, problem.mark.line, problem.mark.column);
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
  std::vector<std::string> messages;
  std::set<std::tuple<std::size_t, int, int, std::string>> seen;  // a pool and its likes share a fault
  for (const Problem& problem : problems) {
    const Mark& mark = problem.mark;
    if (!seen.insert({mark.source, mark.line, mark.column, problem.what}).second) continue;
    const std::string where = mark.source == 0
                                  ? file + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column)
                                  : "--set " + overrides[mark.source - 1];
    messages.push_back(where + ": " + (problem.path.empty() ? "" : problem.path + ": ") + problem.what);
  }
  throw ScenarioError(std::move(messages));
}

bool is_late(const Override& set) { return set.steps.front() == "pools"; }
bool is_latest(const Override& set) { return set.steps.front() == "cluster"; }

/// Overrides apply to the form they are written for: pools and cluster once the short form has become them.
void expand(Node& root, const std::vector<Override>& sets, const std::vector<std::string>& texts, const Names& names,
            std::vector<Problem>& problems) {
  normalise(root, schema().front(), problems);
  for (const Override& set : sets)
    if (!is_late(set) && !is_latest(set)) apply_override(root, set, texts, problems);
  expand_pools(root, problems);
  for (const Override& set : sets)
    if (is_late(set)) apply_override(root, set, texts, problems);
  merge_likes(root, problems);
  expand_cluster(root, problems);
  for (const Override& set : sets)
    if (is_latest(set)) apply_override(root, set, texts, problems);
  if (names.shipped_store) expand_oracle(root, names.shipped_store);
}

std::string stem(const std::filesystem::path& file) {
  std::string name = file.stem().string().substr(0, 200);
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
  return name.empty() ? "scenario" : name;
}

}  // namespace

ScenarioError::ScenarioError(std::vector<std::string> messages)
    : std::runtime_error(joined(messages)),
      messages_(std::move(messages)) {}

Scenario parse_scenario(std::string_view text, const std::filesystem::path& file,
                        const std::vector<std::string>& overrides, const Names& names) {
  std::vector<Problem> problems;
  Node root;
  try {
    root = parse_yaml(text, 0, problems);
  } catch (const Problem& problem) {
    raise({problem}, file.string(), overrides);
  }
  const std::vector<Override> sets = parse_overrides(overrides, problems);
  const std::filesystem::path here = std::filesystem::current_path();
  const PathRules paths{(here / file).lexically_normal().parent_path(), here};
  if (root.is_map()) expand(root, sets, overrides, names, problems);
  const Value value = Reader(paths, problems).read_scenario(root);
  Scenario scenario = bind_scenario(value, stem(file));
  Checker(value, paths, names, scenario, problems).run();
  if (!problems.empty()) raise(std::move(problems), file.string(), overrides);
  return scenario;
}

Scenario load_scenario(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       const Names& names) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw ScenarioError({path.string() + ": no such file"});
  if (!std::filesystem::is_regular_file(path, error))  // opening a pipe would wait for a writer
    throw ScenarioError({path.string() + ": cannot be read as a file"});
  constexpr std::uintmax_t kMaxBytes = 4u << 20;
  if (std::filesystem::file_size(path, error) > kMaxBytes)
    throw ScenarioError({path.string() + ": larger than 4 MiB, which no scenario is"});
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (std::filesystem::file_size(path, error) == 0)
    return parse_scenario("", path, overrides, names);  // `<<` calls no bytes a failure
  if (!stream || !(text << stream.rdbuf())) throw ScenarioError({path.string() + ": cannot be read as a file"});
  return parse_scenario(text.str(), path, overrides, names);
}

}  // namespace dooly::scenario
