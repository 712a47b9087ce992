#include "refusal.hpp"

#include "files/errors.hpp"

#include <cerrno>
#include <cstring>

namespace dooly::files {

void refuse(const std::filesystem::path& path, int error) {
  if (error == ENOSPC || error == EDQUOT) throw WriteFailed(path.string() + ": cannot write: " + std::strerror(error));
  if (error == EWOULDBLOCK) throw NameRefused(path.string() + ": another process is writing it");
  throw NameRefused(path.string() + ": cannot be written: " + std::strerror(error));
}

}  // namespace dooly::files
