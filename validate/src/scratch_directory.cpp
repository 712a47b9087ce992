#include "scratch_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <system_error>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "dooly-validate-";
constexpr std::chrono::minutes kYoung{1};  // may not have its lock yet

/// File descriptor that holds the directory's lock; -1: another process has it, or the directory is not ours.
int lock(const fs::path& directory) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 || ::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  ::close(file);
  return -1;
}

void remove_abandoned(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(kPrefix)) continue;
    std::error_code ignored;
    const fs::file_time_type made = fs::last_write_time(at->path(), ignored);
    if (ignored || made > fs::file_time_type::clock::now() - kYoung) continue;
    const int file = lock(at->path());
    if (file < 0) continue;
    fs::remove_all(at->path(), ignored);
    ::close(file);
  }
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  const fs::path folder = fs::temp_directory_path();
  remove_abandoned(folder);
  std::string pattern = (folder / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "cannot make a directory " + pattern);
  path_ = pattern;
  lock_ = lock(path_);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace dooly::validate
