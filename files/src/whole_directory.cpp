#include "files/whole_directory.hpp"

#include "hidden.hpp"
#include "refusal.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
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
    fill_in_place();
    return;
  }
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), error);
  const Hidden hidden = make_hidden(path_, Hidden::Kind::kDirectory);
  if (hidden.descriptor < 0) refuse(path_, hidden.error);
  lock_ = hidden.descriptor;
  temporary_ = hidden.path;
}

/// Locked, so that what is in it until the end is ours.
void WholeDirectory::fill_in_place() {
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) refuse(path_, errno);
  const int why = ::flock(lock_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  std::error_code error;
  if (why == EWOULDBLOCK || !fs::is_empty(path_, error)) {  // another began, or has just finished
    ::close(std::exchange(lock_, -1));
    refuse(path_, why == EWOULDBLOCK ? EWOULDBLOCK : ENOTEMPTY);
  }
  temporary_ = path_;
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
