#include "hidden.hpp"

#include "files/whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace dooly::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".dooly-tmp";
constexpr std::size_t kRandomDigits = 16;
constexpr std::string_view kHex = "0123456789abcdef";

/// What all hidden files of a target begin with; of long names a part and a hash, as a whole one leaves no room.
std::string beginning_of(const fs::path& target) {
  constexpr std::size_t kMostOfName = 160;
  const std::string name = target.filename().string();
  if (name.size() <= kMostOfName) return "." + name + ".";
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return "." + name.substr(0, kMostOfName) + "." + std::to_string(hash) + ".";
}

std::string new_name(const std::string& beginning) {
  std::uint64_t random = 0;
  static_cast<void>(::getrandom(&random, sizeof random, 0));  // O_EXCL stands behind it
  std::string digits(kRandomDigits, '0');
  for (char& digit : digits) digit = kHex[random & 15], random >>= 4;
  return beginning + std::to_string(::getpid()) + "-" + digits + std::string(kEnding);
}

/// Whether new_name() could have made it: BEGINNING PID - 16 hexadecimal digits ENDING.
bool is_one(std::string_view name, std::string_view beginning) {
  if (!name.starts_with(beginning) || !name.ends_with(kEnding) || name.size() < beginning.size() + kEnding.size())
    return false;
  name.remove_prefix(beginning.size());
  name.remove_suffix(kEnding.size());
  const std::size_t dash = std::min(name.find('-'), name.size());
  const std::string_view process = name.substr(0, dash), random = name.substr(std::min(dash + 1, name.size()));
  return !process.empty() && process.find_first_not_of("0123456789") == std::string_view::npos &&
         random.size() == kRandomDigits && random.find_first_not_of(kHex) == std::string_view::npos;
}

bool is_locked_by_others(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

/// Removes what a killed writer left. True: its writer lives.
bool is_in_use(const fs::path& other) {
  const int file = ::open(other.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  struct stat there {};
  const bool is_ours = ::fstat(file, &there) == 0 && (S_ISREG(there.st_mode) || S_ISDIR(there.st_mode));
  const bool is_free = is_ours && ::flock(file, LOCK_EX | LOCK_NB) == 0;
  const bool lives = is_ours && !is_free && errno == EWOULDBLOCK;
  std::error_code ignored;
  if (is_free) fs::remove_all(other, ignored);  // while we hold it
  ::close(file);
  return lives;
}

/// A descriptor of a new file or directory; below 0, with errno: it cannot be made.
int made_new(const fs::path& path, Hidden::Kind kind) {
  if (kind == Hidden::Kind::kFile) return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return ::mkdir(path.c_str(), 0777) == 0 ? ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/// Looks at all but `own`.
bool another_writes(const fs::path& own, const std::string& beginning) {
  bool found = false;
  std::error_code ignored;  // who may not read a folder may still write there
  const fs::path folder = own.has_parent_path() ? own.parent_path() : ".";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_one(name, beginning) && name != own.filename()) found = is_in_use(entry.path()) || found;
  }
  return found;
}

}  // namespace

Hidden make_hidden(const fs::path& target, Hidden::Kind kind) {
  const std::string beginning = beginning_of(target);
  Hidden made;
  made.path = target.parent_path() / new_name(beginning);
  made.descriptor = made_new(made.path, kind);
  if (made.descriptor < 0) {
    made.error = errno;
    return made;
  }
  // Between opening and locking another writer may have taken ours for a leftover.
  const bool is_lost = is_locked_by_others(made.descriptor) || !is_still_there(made.descriptor, made.path);
  if (!is_lost && !another_writes(made.path, beginning)) return made;
  std::error_code ignored;
  fs::remove(made.path, ignored);
  ::close(std::exchange(made.descriptor, -1));
  made.error = EWOULDBLOCK;
  return made;
}

}  // namespace dooly::files
