#include "scenarios/find_store.hpp"

#include <cstdlib>
#include <map>
#include <string_view>

namespace dooly::scenario {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kEnding = ".jsonl.zst";

void add_matching(const fs::path& directory, const std::string& name, std::map<std::string, fs::path>& found) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(name) && file.ends_with(kEnding) && entry.is_regular_file(ignored))
      found.emplace(file, entry.path());
  }
}

std::vector<fs::path> search_path() {
  std::vector<fs::path> directories;
  const char* given = std::getenv("DOOLY_PATH");
  const std::string text = given != nullptr ? given : "";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    if (end > at) directories.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return directories;
}

/// "; there: a, b", of the stores that a name could have found.
std::string all_in(const std::vector<fs::path>& directories) {
  constexpr std::size_t kMost = 20;
  std::map<std::string, fs::path> all;
  for (const fs::path& directory : directories) add_matching(directory, "", all);
  std::string text;
  std::size_t shown = 0;
  for (const auto& [file, path] : all) {
    if (shown++ == kMost) return text + " and " + std::to_string(all.size() - kMost) + " more";
    text += (text.empty() ? "; there: " : ", ") + file.substr(0, file.size() - kEnding.size());
  }
  return text;
}

}  // namespace

std::vector<fs::path> find_store(const std::string& text, const fs::path& at, const std::vector<fs::path>& more) {
  std::error_code ignored;
  if (fs::is_directory(at, ignored) || fs::is_regular_file(at, ignored)) return {at};
  const bool is_name = text.find('/') == std::string::npos && !text.ends_with(kEnding);
  std::map<std::string, fs::path> found;
  std::vector<fs::path> directories = {at.parent_path()};
  if (is_name) {
    for (const fs::path& directory : search_path()) directories.push_back(directory);
    directories.insert(directories.end(), more.begin(), more.end());
  }
  const std::string name = at.filename().string();
  if (!name.empty())
    for (const fs::path& directory : directories) add_matching(directory, name, found);
  if (found.empty()) {
    std::string searched;
    for (const fs::path& directory : directories) searched += (searched.empty() ? "" : ", ") + directory.string();
    throw "no such store: neither a directory nor a file, and no " + name + "*" + std::string(kEnding) + " in " +
        searched + all_in(directories);
  }
  std::vector<fs::path> files;
  for (const auto& [file, path] : found) files.push_back(path);
  return files;
}

}  // namespace dooly::scenario
