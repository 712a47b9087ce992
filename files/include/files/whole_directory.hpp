#pragma once

#include <filesystem>

namespace dooly::files {

/// A directory that gets its name when it is whole: until finish() it is a hidden one beside it, of a name of its own
/// and locked, and goes with this object; what killed writers of this directory left goes, too. An empty one that is
/// there, which may be a mount, is filled in place, and emptied again unless finish() is reached.
class WholeDirectory {
 public:
  /// Makes the folders above `path` where they are missing. Throws NameRefused if there cannot be such a directory,
  /// what has the name is neither absent nor an empty directory, or another process is writing it; WriteFailed if the
  /// disk is full.
  explicit WholeDirectory(const std::filesystem::path& path);
  /// Removes what was not finished.
  ~WholeDirectory();
  WholeDirectory(const WholeDirectory&) = delete;
  WholeDirectory& operator=(const WholeDirectory&) = delete;

  const std::filesystem::path& temporary() const { return temporary_; }  ///< where to write
  /// Gives the directory its name. Throws NameRefused if something got the name meanwhile, WriteFailed.
  void finish();

 private:
  void fill_in_place();
  bool is_in_place() const { return temporary_ == path_; }
  std::filesystem::path path_, temporary_;
  int lock_ = -1;
};

}  // namespace dooly::files
