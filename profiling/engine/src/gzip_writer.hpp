#pragma once

#include "files/whole_file.hpp"

#include <filesystem>
#include <memory>
#include <string_view>

struct gzFile_s;

namespace dooly::profiling {

/// Lines of a gzip file, which gets its name at close(). Throws files::NameRefused and files::WriteFailed.
class GzipWriter {
 public:
  explicit GzipWriter(const std::filesystem::path& path);
  void line(std::string_view text);
  void close();

 private:
  [[noreturn]] void fail();
  struct Closer {
    void operator()(gzFile_s* file) const;
  };
  files::WholeFile whole_;
  std::unique_ptr<gzFile_s, Closer> file_;
};

}  // namespace dooly::profiling
