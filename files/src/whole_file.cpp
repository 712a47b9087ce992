#include "files/whole_file.hpp"

#include "files/errors.hpp"
#include "hidden.hpp"
#include "refusal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace dooly::files {
namespace {

namespace fs = std::filesystem;

/// Where a chain of symbolic links ends, there or not.
fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

}  // namespace

bool is_still_there(int descriptor, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

WholeFile::WholeFile(const fs::path& path) : path_(path), target_(behind_links(path)) {
  if (!path.has_filename()) refuse(path, ENOENT);
  struct stat there {};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) refuse(path, errno);
  if (exists && S_ISDIR(there.st_mode)) throw NameRefused(path.string() + ": is a directory");
  if (exists && !S_ISREG(there.st_mode)) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) refuse(path_, errno);
    return;
  }
  open_alone();
  if (exists) static_cast<void>(::fchmod(file_, there.st_mode & 07777));  // as good as may be: the content matters
}

void WholeFile::open_alone() {
  const Hidden hidden = make_hidden(target_, Hidden::Kind::kFile);
  if (hidden.descriptor < 0) refuse(path_, hidden.error);
  file_ = hidden.descriptor;
  temporary_ = hidden.path;
}

WholeFile::~WholeFile() { discard(); }

void WholeFile::discard() noexcept {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());  // while the lock still holds
  temporary_.clear();
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

void WholeFile::fail(int error) {
  if (!failed()) failure_ = path_.string() + ": cannot write: " + std::strerror(error);
}

void WholeFile::write(std::string_view text) {
  while (!text.empty() && !failed()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      fail(errno);
  }
}

void WholeFile::sync() {
  if (!failed() && !temporary_.empty() && ::fsync(file_) != 0) fail(errno);
}

void WholeFile::finish() {
  // The name comes before the lock goes. A network file system may tell of a full disk only on closing, so a copy of
  // the descriptor is closed first, which keeps the lock.
  const int copy = ::dup(file_);
  if (copy < 0 || ::close(copy) != 0) fail(errno);
  if (!failed() && !temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  if (!failed()) temporary_.clear();
  discard();
  if (failed()) throw WriteFailed(failure_);
}

void write_whole_file(const fs::path& path, std::string_view text) {
  WholeFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace dooly::files
