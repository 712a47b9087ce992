#include "scenarios/find_store.hpp"

#include <cstdlib>
#include <map>
#include <string_view>

namespace dooly::scenario {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kEnding = ".jsonl.zst";

/// Files whose names begin with `name`, but for those whose names are in `found` already.
void add_matching(const fs::path& directory, const std::string& name, std::map<std::string, fs::path>& found) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(name) && file.ends_with(kEnding) && file.size() >= name.size() + kEnding.size() &&
        entry.is_regular_file(ignored))
      found.emplace(file, entry.path());
  }
}

bool is_plain_name(const std::string& text) { return text.find('/') == std::string::npos; }

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

/// The first file of just this name, else all whose names begin with it. A name with its ending is the whole name.
std::vector<fs::path> of_name(const std::string& name, const std::vector<fs::path>& directories) {
  std::error_code ignored;
  std::map<std::string, fs::path> found;
  const bool is_whole = name.ends_with(kEnding);
  for (const fs::path& directory : directories) {
    const fs::path exact = directory / (is_whole ? name : name + std::string(kEnding));
    if (fs::is_regular_file(exact, ignored)) return {exact};
    if (!is_whole) add_matching(directory, name, found);
  }
  std::vector<fs::path> files;
  for (const auto& [file, path] : found) files.push_back(path);
  return files;
}

/// "; there: a, b": what a name could have meant, without the ending; empty where there is nothing.
std::string listed(const char* before, const std::vector<fs::path>& files) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i == kMost) return text + " and " + std::to_string(files.size() - kMost) + " more";
    const std::string file = files[i].filename().string();
    text += (i == 0 ? before : ", ") + file.substr(0, file.size() - kEnding.size());
  }
  return text;
}

}  // namespace

std::vector<fs::path> find_store(const std::string& text, const fs::path& at, const std::vector<fs::path>& more) {
  std::error_code ignored;
  std::vector<fs::path> directories;
  if (is_plain_name(text)) {
    directories = search_path();
    directories.insert(directories.end(), more.begin(), more.end());
  }
  const std::string name = at.filename().string();
  if (fs::is_directory(at, ignored) || fs::is_regular_file(at, ignored)) {
    const bool is_file_name = name.empty() || name.ends_with(kEnding);
    const std::vector<fs::path> others = is_file_name ? std::vector<fs::path>{} : of_name(name, directories);
    if (others.empty()) return {at};
    throw "means two things, " + fs::absolute(at).string() + " and by name " + listed("", others) + " of " +
        others.front().parent_path().string() + "; './" + name + "' is the first, a name in full one of the others";
  }
  directories.insert(directories.begin(), at.has_parent_path() ? at.parent_path() : ".");
  std::vector<fs::path> found = name.empty() ? std::vector<fs::path>{} : of_name(name, directories);
  if (!found.empty()) return found;
  std::string searched;
  for (const fs::path& directory : directories) searched += (searched.empty() ? "" : ", ") + directory.string();
  throw "no such store: neither a directory nor a file, and no " +
      (name.ends_with(kEnding) ? name : name + "*" + std::string(kEnding)) + " in " + searched +
      listed("; there: ", of_name("", directories));
}

std::vector<fs::path> stores_called(const std::string& text) {
  if (text.empty() || !is_plain_name(text)) return {};
  std::vector<fs::path> directories = search_path();
  if (const fs::path shipped = shipped_stores(); !shipped.empty()) directories.push_back(shipped);
  return of_name(text, directories);
}

fs::path shipped_stores() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return ignored ? fs::path() : program.parent_path().parent_path() / "share/dooly/stores";
}

}  // namespace dooly::scenario
