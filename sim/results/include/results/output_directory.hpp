#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::results {

/// What of a run's files got their names.
enum class Published : std::uint8_t { kNothing, kSome, kAll };

/// The directory of a run's results. Claimed before work starts and locked while the object lives; files are written
/// under temporary names and get their own at the end, so that what has its name is complete.
class OutputDirectory {
 public:
  /// Creates the directory where it is missing, checks that files can be written there and locks it. Throws
  /// NameRefused if it is no directory, holds results (unless `force`), cannot be written, or another run uses it.
  static OutputDirectory claim(const std::filesystem::path& directory, bool force);
  OutputDirectory(OutputDirectory&& other) noexcept;
  OutputDirectory& operator=(OutputDirectory&&) = delete;
  /// Removes temporary files that were not published, gives up the lock, and removes the directory if it was created
  /// here and nothing is in it.
  ~OutputDirectory();

  const std::filesystem::path& path() const { return path_; }

  /// Where to write the file that will be called `name`.
  std::filesystem::path temporary(const std::string& name);
  /// Writes a small file whole, under its temporary name. Throws WriteFailed.
  void write(const std::string& name, std::string_view text);
  /// Forgets a file that could not be completed and frees its room.
  void discard(const std::string& name);

  /// Results of an earlier run go, files written through this object get their names (summary.json last), and the file
  /// PARTIAL says why the results are not complete, unless `partial` is empty. Throws WriteFailed.
  void publish(std::string_view partial = {});
  /// After a publish() that threw, what it came to. Of nothing, a directory that was created here goes.
  Published published() const { return published_; }

 private:
  OutputDirectory() = default;
  void lock();
  void remove_leftovers() const;
  std::filesystem::path path_;
  std::vector<std::string> names_;  ///< asked for by temporary(), not published
  int lock_ = -1;
  bool created_ = false;
  Published published_ = Published::kNothing;
};

}  // namespace dooly::results
