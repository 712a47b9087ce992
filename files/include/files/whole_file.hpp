#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace dooly::files {

/// A file that gets its name when it is whole: until finish() it is a hidden one beside it, of a name of its own and
/// locked, and goes with this object; what killed writers of this file left goes, too. A symbolic link is followed; a
/// device or a pipe is written to directly, as there is nothing to replace.
class WholeFile {
 public:
  /// Throws NameRefused if there cannot be such a file, or another process is writing it; WriteFailed if the disk is
  /// full.
  explicit WholeFile(const std::filesystem::path& path);
  /// Removes a file that was not finished; what had the name before stays.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Unbuffered. Does not throw: the first failure is kept and later text is dropped.
  void write(std::string_view text);
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }  ///< "PATH: cannot write: REASON"; empty: none
  void fail(int error);                                    ///< of somebody who wrote to descriptor()

  int descriptor() const { return file_; }
  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }  ///< empty: a device or pipe

  /// Waits until the disk has what was written.
  void sync();
  /// Gives the file its name. Throws WriteFailed if anything got lost; the file is gone then. Call once.
  void finish();

 private:
  void open_alone();  ///< no other process writes this file meanwhile
  void discard() noexcept;
  std::filesystem::path path_, target_, temporary_;  ///< target: path behind links
  std::string failure_;
  int file_ = -1;
};

/// Whether an open file still is what its name leads to: another process may have renamed or removed it meanwhile.
bool is_still_there(int descriptor, const std::filesystem::path& path);

/// All of a file at once. Throws as WholeFile does.
void write_whole_file(const std::filesystem::path& path, std::string_view text);

}  // namespace dooly::files
