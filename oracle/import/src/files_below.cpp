#include "files_below.hpp"

#include "oracle_import/import_error.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace dooly::import_ {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::set<fs::path> seen;
  std::deque<fs::path> folders = {folder};  // those behind links last: what is there itself has its own name
  fs::path at = folder;
  try {
    while (!folders.empty()) {
      at = folders.front();
      folders.pop_front();
      if (!seen.insert(fs::canonical(at)).second) continue;
      std::vector<fs::path> found;
      for (const fs::directory_entry& entry : fs::directory_iterator(at)) found.push_back(entry.path());
      std::sort(found.begin(), found.end());
      for (const fs::path& path : found) {
        std::error_code broken;  // a link that leads nowhere
        if (fs::is_regular_file(path, broken)) files.push_back(path);
        if (!fs::is_directory(path, broken)) continue;
        fs::is_symlink(path) ? folders.push_back(path) : folders.push_front(path);
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw ImportError(at.string() + ": cannot be read: " + error.code().message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace dooly::import_
