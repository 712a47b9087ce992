#include "file_reader.hpp"

#include "scenarios/data_path.hpp"
#include "scenarios/nearest.hpp"
#include "validate/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

namespace dooly::validate {
namespace {

using scenario::Mark;
using scenario::Node;
using scenario::Problem;

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::filesystem::path data_path(const std::string& written, const std::filesystem::path& file) {
  try {
    return scenario::resolve_path(written, (std::filesystem::current_path() / file).lexically_normal().parent_path());
  } catch (const std::string&) {
    return written;
  }
}

std::string joined(std::string_view key, std::string_view name) {
  return key.empty() ? std::string(name) : std::string(key) + "." + std::string(name);
}

void FileReader::refuse(const Node& node, const std::string& key, const std::string& what,
                        const std::vector<std::string_view>& allowed) {
  std::string text = fmt::format("{}, got {}", what, scenario::shown(node));
  if (!allowed.empty()) text += "; allowed: " + scenario::listed(allowed);
  report(node.mark, key, text);
}

void FileReader::report(const Mark& mark, const std::string& key, const std::string& what) {
  problems_.push_back({mark, key, what});
}

bool FileReader::is_map_of(const Node& node, const std::string& key, const std::vector<std::string_view>& known) {
  if (!node.is_map()) {
    refuse(node, key, "must be a map", known);
    return false;
  }
  for (const Node::Member& member : node.members) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    const std::string_view meant = scenario::nearest(member.key, known);
    report(member.mark, joined(key, member.key),
           fmt::format("unknown key{}; allowed: {}", meant.empty() ? "" : fmt::format(", did you mean '{}'?", meant),
                       scenario::listed(known)));
  }
  return true;
}

const Node* FileReader::required(const Node& map, const std::string& key, std::string_view name) {
  const Node* found = map.find(name);
  if (found == nullptr) report(map.mark, joined(key, name), "is required");
  return found;
}

std::string FileReader::text(const Node& node, const std::string& key) {
  if (node.is_scalar() && !node.text.empty()) return node.text;
  refuse(node, key, "must be a text");
  return {};
}

std::string FileReader::one_of(const Node& node, const std::string& key, const std::vector<std::string_view>& allowed) {
  if (node.is_scalar() && std::find(allowed.begin(), allowed.end(), node.text) != allowed.end()) return node.text;
  const std::string_view meant = node.is_scalar() ? scenario::nearest(node.text, allowed) : std::string_view();
  refuse(node, key, meant.empty() ? "unknown" : fmt::format("unknown, did you mean '{}'?", meant), allowed);
  return {};
}

std::filesystem::path FileReader::path(const Node& node, const std::string& key) {
  const std::string written = text(node, key);
  return written.empty() ? std::filesystem::path() : data_path(written, file_);
}

std::optional<std::uint64_t> FileReader::count(const Node& node, const std::string& key) {
  const auto value = node.is_scalar() ? number<std::uint64_t>(node.text) : std::nullopt;
  if (!value) refuse(node, key, "must be a whole number of at least 0");
  return value;
}

std::optional<double> FileReader::percentage(const Node& node, const std::string& key) {
  const bool has_sign = node.is_scalar() && node.text.ends_with('%');
  std::string_view digits = has_sign ? std::string_view(node.text).substr(0, node.text.size() - 1) : "";
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  const auto value = number<double>(digits);
  if (value && *value >= 0 && *value < 1e6) return *value / 100;
  refuse(node, key, "must be a percentage such as 4%");
  return std::nullopt;
}

std::vector<const Node*> FileReader::words(const Node& node, const std::string& key) {
  std::vector<const Node*> found;
  if (node.is_scalar()) return {&node};
  for (const Node& item : node.items)
    if (item.is_scalar()) found.push_back(&item);
  if (!node.is_list() || found.size() != node.items.size() || found.empty())
    refuse(node, key, "must be a name or a list of names");
  return found;
}

std::string FileReader::where(const Mark& mark) const {
  return fmt::format("{}:{}:{}", file_.string(), mark.line, mark.column);
}

void FileReader::finish() const {
  if (problems_.empty()) return;
  std::vector<Problem> problems = problems_;
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.mark.line, a.mark.column) < std::tie(b.mark.line, b.mark.column);
  });
  std::string all;
  for (const Problem& problem : problems)
    all += fmt::format("{}{}: {}{}{}", all.empty() ? "" : "\n", where(problem.mark), problem.path,
                       problem.path.empty() ? "" : ": ", problem.what);
  throw ValidationError(all);
}

}  // namespace dooly::validate
