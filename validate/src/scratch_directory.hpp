#pragma once

#include <filesystem>

namespace dooly::validate {

/// A new directory of this process in the folder for temporary files, removed at the end. Whoever makes one also
/// removes those that processes left behind which were killed: the lock that each holds on its own tells them from
/// others.
class ScratchDirectory {
 public:
  ScratchDirectory();  ///< throws std::system_error
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace dooly::validate
