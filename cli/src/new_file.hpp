#pragma once

#include <filesystem>
#include <vector>

namespace dooly::cli {

/// Throws UsageError if `path`, a file to write, is a directory, or if it would be replaced without `force`. Devices
/// and pipes are not replaced.
void refuse_taken(const std::filesystem::path& path, bool force);

/// A directory for files to come, there or not: made before the work whose files they are, so that a name that will not
/// do costs nothing. What was made for it and is still empty at the end goes again: refused work leaves nothing.
class DirectoryForFiles {
 public:
  /// Throws UsageError if it cannot be a directory.
  explicit DirectoryForFiles(const std::filesystem::path& directory);
  ~DirectoryForFiles();
  DirectoryForFiles(const DirectoryForFiles&) = delete;
  DirectoryForFiles& operator=(const DirectoryForFiles&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  ///< the innermost first
};

}  // namespace dooly::cli
