#pragma once

#include <filesystem>

namespace dooly::files {

/// Where a file or directory is written before it gets its name: beside it, hidden, with the process and a random
/// number in the name, so that it cannot be a user's.
struct Hidden {
  enum class Kind { kFile, kDirectory };
  std::filesystem::path path;
  int descriptor = -1;  ///< locked, a file's for writing; below 0: there is none, and `error` says why
  int error = 0;        ///< errno; EWOULDBLOCK: another process is writing the same target
};

/// Makes a new one for `target`. What killed writers of this target left, which is what nobody holds a lock on, is
/// removed. Of writers that start within the same moment none may get its file.
Hidden make_hidden(const std::filesystem::path& target, Hidden::Kind kind);

}  // namespace dooly::files
