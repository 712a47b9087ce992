#pragma once

#include "files/whole_file.hpp"

#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::store {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Opens a file for appending that no other process may open so meanwhile; it is made if absent. Throws StoreError.
File open_alone(const std::filesystem::path& path);
/// Another holds the file open by open_alone().
bool is_written(const std::filesystem::path& path);

/// Compresses into a file that gets its name at commit(). Throws StoreError, and StoreWriteFailed of a disk that is
/// full.
class ZstdOutput {
 public:
  explicit ZstdOutput(const std::filesystem::path& path);
  void write(std::string_view bytes);
  void commit();
  const std::filesystem::path& path() const { return file_.path(); }
  const std::filesystem::path& temporary() const { return file_.temporary(); }

 private:
  void compress(std::string_view bytes, ZSTD_EndDirective directive);
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  files::WholeFile file_;
  std::unique_ptr<ZSTD_CCtx, Free> context_;
  std::vector<char> buffer_;
};

/// Lines of a zstd file, or of a plain one.
class LineInput {
 public:
  explicit LineInput(std::filesystem::path path);
  /// The next line without its end; false at the end of the file. The view lives until the next call.
  bool next(std::string_view& line);
  std::uint64_t line_number() const { return line_number_; }
  const std::filesystem::path& path() const { return path_; }
  /// Throws StoreDamaged "PATH:LINE: what".
  [[noreturn]] void fail(std::string_view what) const;

 private:
  bool fill();
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::filesystem::path path_;
  File file_;
  bool is_compressed_ = false;
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  std::vector<char> input_, text_;
  ZSTD_inBuffer in_{};
  std::size_t begin_ = 0, end_ = 0;  ///< of the text not yet handed out
  std::size_t frame_rest_ = 0;       ///< not 0: a frame is not complete
  std::uint64_t line_number_ = 0;
};

}  // namespace dooly::store
