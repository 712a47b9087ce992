#include "gzip_writer.hpp"

#include "files/errors.hpp"

#include <unistd.h>
#include <zlib.h>

#include <cerrno>

namespace dooly::profiling {

void GzipWriter::Closer::operator()(gzFile_s* file) const { gzclose(file); }

GzipWriter::GzipWriter(const std::filesystem::path& path)
    : whole_(path),
      file_(gzdopen(::dup(whole_.descriptor()), "wb")) {
  if (!file_) fail();
}

void GzipWriter::line(std::string_view text) {
  const auto size = static_cast<unsigned>(text.size());
  if ((size > 0 && gzwrite(file_.get(), text.data(), size) == 0) || gzputc(file_.get(), '\n') < 0) fail();
}

void GzipWriter::close() {
  if (gzclose(file_.release()) != Z_OK) fail();
  whole_.finish();
}

void GzipWriter::fail() {
  whole_.fail(errno != 0 ? errno : EIO);
  throw files::WriteFailed(whole_.failure());
}

}  // namespace dooly::profiling
