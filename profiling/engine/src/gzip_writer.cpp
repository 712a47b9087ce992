#include "gzip_writer.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <utility>

namespace dooly::profiling {

void GzipWriter::Closer::operator()(gzFile_s* file) const { gzclose(file); }

GzipWriter::GzipWriter(std::filesystem::path path) : path_(std::move(path)), file_(gzopen(path_.c_str(), "wb")) {
  if (!file_) fail();
}

void GzipWriter::line(std::string_view text) {
  const auto size = static_cast<unsigned>(text.size());
  if ((size > 0 && gzwrite(file_.get(), text.data(), size) == 0) || gzputc(file_.get(), '\n') < 0) fail();
}

void GzipWriter::close() {
  if (gzclose(file_.release()) != Z_OK) fail();
}

void GzipWriter::fail() const { throw ProfilingError(fmt::format("{}: cannot be written", path_.string())); }

}  // namespace dooly::profiling
