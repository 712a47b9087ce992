#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace dooly::results {

/// A buffered file. Writing never throws: the first failure (disk full, …) is kept, later text is dropped, and whoever
/// feeds the sink looks at `failed()` now and then or calls `finish()` at the end. So it can be fed from within
/// callbacks that must not throw. Owns the open file, which stays under its name when the sink goes.
class FileSink {
 public:
  /// Creates or empties the file. Throws WriteFailed naming the path if it cannot be opened.
  explicit FileSink(std::filesystem::path path);
  ~FileSink();
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  /// Room for `size` more bytes (at most kLargestWrite): write there, then commit the end of what was written.
  char* reserve(std::size_t size) {
    if (kBuffer - used_ < size) flush();
    return buffer_.get() + used_;
  }
  void commit(const char* end) { used_ = static_cast<std::size_t>(end - buffer_.get()); }
  void append(std::string_view text);

  std::uint64_t size() const { return flushed_ + used_; }  ///< bytes handed over
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }  ///< "PATH: cannot write: REASON"; empty: none
  const std::filesystem::path& path() const { return path_; }

  void fail(const std::string& reason) {  ///< as if writing had failed
    if (!failed()) failure_ = reason;
  }
  void flush();
  /// Bytes that were written before (flush first), and their replacement by as many others.
  std::string read_back(std::uint64_t offset, std::size_t size);
  void rewrite(std::uint64_t offset, std::string_view text);
  /// Flushes and closes. Throws WriteFailed if anything got lost. Call once; nothing may be written afterwards.
  void finish();

  static constexpr std::size_t kLargestWrite = 64 << 10;

 private:
  static constexpr std::size_t kBuffer = 256 << 10;
  void write_all(const char* from, std::size_t size);
  void fail(int error);
  std::filesystem::path path_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  std::uint64_t flushed_ = 0;
  int file_ = -1;
  std::string failure_;
};

}  // namespace dooly::results
