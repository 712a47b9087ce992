#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

struct gzFile_s;

namespace dooly::profiling {

/// Lines of a gzip file. Every failure throws ProfilingError naming the path.
class GzipWriter {
 public:
  explicit GzipWriter(std::filesystem::path path);
  void line(std::string_view text);
  void close();

 private:
  [[noreturn]] void fail() const;
  struct Closer {
    void operator()(gzFile_s* file) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, Closer> file_;
};

}  // namespace dooly::profiling
