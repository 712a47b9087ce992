#pragma once

#include "scenarios/document.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::validate {

/// Reads the tree of one validation file: every key is used or refused, problems are collected with their places.
class FileReader {
 public:
  explicit FileReader(const std::filesystem::path& file) : file_(file) {}

  /// Adds "WHAT, got VALUE; allowed: …".
  void refuse(const scenario::Node& node, const std::string& key, const std::string& what,
              const std::vector<std::string_view>& allowed = {});
  /// The same without a value.
  void report(const scenario::Mark& mark, const std::string& key, const std::string& what);
  void add(const scenario::Problem& problem) { report(problem.mark, problem.path, problem.what); }
  /// Is it a map, and of these keys only?
  bool is_map_of(const scenario::Node& node, const std::string& key, const std::vector<std::string_view>& known);
  /// The member, or a problem at the map.
  const scenario::Node* required(const scenario::Node& map, const std::string& key, std::string_view name);
  /// Text of a scalar; empty with a problem otherwise.
  std::string text(const scenario::Node& node, const std::string& key);
  std::string one_of(const scenario::Node& node, const std::string& key, const std::vector<std::string_view>& allowed);
  std::filesystem::path path(const scenario::Node& node, const std::string& key);
  std::optional<std::uint64_t> count(const scenario::Node& node, const std::string& key);
  /// "4%": 0.04.
  std::optional<double> percentage(const scenario::Node& node, const std::string& key);
  /// A scalar or a list of scalars.
  std::vector<const scenario::Node*> words(const scenario::Node& node, const std::string& key);

  std::string where(const scenario::Mark& mark) const;
  /// Throws ValidationError with everything found, in the order of the file.
  void finish() const;

 private:
  std::filesystem::path file_;
  std::vector<scenario::Problem> problems_;
};

/// A path of a validation file, absolute. Of data that are not at hand it stays as written ($DOOLY_DATA/…): what needs
/// them finds no such file and is skipped.
std::filesystem::path data_path(const std::string& written, const std::filesystem::path& file);

/// "bounds.requests.ttft".
std::string joined(std::string_view key, std::string_view name);

}  // namespace dooly::validate
