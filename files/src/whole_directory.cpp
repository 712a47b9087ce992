#include "files/whole_directory.hpp"

#include "hidden.hpp"
#include "refusal.hpp"

#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace dooly::files {

namespace fs = std::filesystem;

WholeDirectory::WholeDirectory(const fs::path& path) : path_(path) {
  if (!path_.has_filename()) path_ = path_.parent_path();  // "folder/"
  std::error_code error;
  const fs::file_status there = fs::status(path_, error);
  if (fs::exists(there) && !(fs::is_directory(there) && fs::is_empty(path_, error)))
    refuse(path_, fs::is_directory(there) ? ENOTEMPTY : EEXIST);
  if (fs::is_directory(there)) {
    temporary_ = path_;
    return;
  }
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), error);
  const Hidden hidden = make_hidden(path_, Hidden::Kind::kDirectory);
  if (hidden.descriptor < 0) refuse(path_, hidden.error);
  lock_ = hidden.descriptor;
  temporary_ = hidden.path;
}

WholeDirectory::~WholeDirectory() {
  std::error_code ignored;
  if (!temporary_.empty() && is_in_place())
    for (const fs::directory_entry& entry : fs::directory_iterator(path_, ignored)) fs::remove_all(entry, ignored);
  else if (!temporary_.empty())
    fs::remove_all(temporary_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void WholeDirectory::finish() {
  if (!is_in_place() && ::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(path_, errno);
  temporary_.clear();
  if (lock_ >= 0) ::close(std::exchange(lock_, -1));
}

}  // namespace dooly::files
