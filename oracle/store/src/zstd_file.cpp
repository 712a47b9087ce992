#include "zstd_file.hpp"

#include "files/errors.hpp"
#include "oracle/text_file.hpp"
#include "oracle_store/store_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd_errors.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace dooly::store {
namespace {

constexpr int kLevel = 3;  // digits of measured times hardly compress further

std::string reason() { return std::strerror(errno); }

bool is_pipe(int file) {
  struct stat opened {};
  return ::fstat(file, &opened) == 0 && S_ISFIFO(opened.st_mode);
}

/// Memory that is lacking is no fault of the file.
void check_memory(std::size_t result) {
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
}

/// Who had it before us may have renamed or removed it between our opening and our locking.
bool is_still_there(int file, const std::filesystem::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

files::WholeFile open_whole(const std::filesystem::path& path) {
  try {
    return files::WholeFile(path);
  } catch (const files::NameRefused& error) {
    throw StoreError(error.what());
  } catch (const files::WriteFailed& error) {
    throw StoreWriteFailed(error.what());
  }
}

}  // namespace

File open_alone(const std::filesystem::path& path) {
  File file(std::fopen(path.c_str(), "abe"));
  if (!file) throw StoreError(path.string() + ": cannot be written: " + reason());
  if (::flock(::fileno(file.get()), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw StoreError(path.string() + ": another process is writing to this file");
  if (!is_still_there(::fileno(file.get()), path))
    throw StoreError(path.string() + ": another process has just written this file: try again");
  return file;
}

bool is_written(const std::filesystem::path& path) {
  const File file(std::fopen(path.c_str(), "re"));
  return file && ::flock(::fileno(file.get()), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

ZstdOutput::ZstdOutput(const std::filesystem::path& path)
    : file_(open_whole(path)),
      context_(ZSTD_createCCtx()),
      buffer_(ZSTD_CStreamOutSize()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

void ZstdOutput::compress(std::string_view bytes, ZSTD_EndDirective directive) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (std::size_t rest = 1; rest != 0 || in.pos < in.size;) {
    ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
    rest = ZSTD_compressStream2(context_.get(), &out, &in, directive);
    check_memory(rest);
    if (ZSTD_isError(rest)) throw StoreError(path().string() + ": cannot be compressed: " + ZSTD_getErrorName(rest));
    file_.write({buffer_.data(), out.pos});
    if (file_.failed()) throw StoreWriteFailed(file_.failure());
    if (directive == ZSTD_e_continue && in.pos == in.size) return;
  }
}

void ZstdOutput::write(std::string_view bytes) { compress(bytes, ZSTD_e_continue); }

void ZstdOutput::commit() {
  compress({}, ZSTD_e_end);
  file_.sync();
  try {
    file_.finish();
  } catch (const files::WriteFailed& error) {
    throw StoreWriteFailed(error.what());
  }
}

LineInput::LineInput(std::filesystem::path path)
    : path_(std::move(path)),
      file_(oracle::open_for_reading(path_)),
      input_(ZSTD_DStreamInSize()),
      text_(1 << 18) {
  if (!file_) throw StoreError(path_.string() + ": cannot be read: " + reason());
  if (is_pipe(::fileno(file_.get())))
    throw StoreError(path_.string() + ": is a pipe; a store is read more than once: give a file");
  in_ = {input_.data(), std::fread(input_.data(), 1, input_.size(), file_.get()), 0};
  if (std::ferror(file_.get())) throw StoreError(path_.string() + ": cannot be read: " + reason());
  is_compressed_ = in_.size >= 4 && std::memcmp(input_.data(), "\x28\xb5\x2f\xfd", 4) == 0;
  if (!is_compressed_) return;
  context_.reset(ZSTD_createDCtx());
  if (!context_) throw std::bad_alloc();
}

/// More text behind `end_`; false at the end of the file.
bool LineInput::fill() {
  for (;;) {
    if (in_.pos == in_.size) {
      in_ = {input_.data(), std::fread(input_.data(), 1, input_.size(), file_.get()), 0};
      if (std::ferror(file_.get())) throw StoreError(path_.string() + ": cannot be read: " + reason());
      if (in_.size == 0) {
        if (frame_rest_ != 0) fail("the file is cut off");
        return false;
      }
    }
    if (end_ == text_.size()) {
      if (end_ >= oracle::kLargestTextFile) {
        ++line_number_;
        fail("a line longer than " + oracle::size_text(oracle::kLargestTextFile) + ", the most that is read");
      }
      text_.resize(2 * text_.size());
    }
    if (!is_compressed_) {
      const std::size_t taken = std::min(in_.size - in_.pos, text_.size() - end_);
      std::memcpy(text_.data() + end_, input_.data() + in_.pos, taken);
      in_.pos += taken, end_ += taken;
      return true;
    }
    ZSTD_outBuffer out{text_.data(), text_.size(), end_};
    frame_rest_ = ZSTD_decompressStream(context_.get(), &out, &in_);
    check_memory(frame_rest_);
    if (ZSTD_isError(frame_rest_)) fail(fmt::format("cannot be decompressed: {}", ZSTD_getErrorName(frame_rest_)));
    const bool got = out.pos > end_;
    end_ = out.pos;
    if (got) return true;
  }
}

bool LineInput::next(std::string_view& line) {
  for (std::size_t searched = 0;;) {
    const char* const from = text_.data() + begin_;
    if (const void* found = std::memchr(from + searched, '\n', end_ - begin_ - searched)) {
      line = {from, static_cast<std::size_t>(static_cast<const char*>(found) - from)};
      begin_ += line.size() + 1;
      ++line_number_;
      return true;
    }
    searched = end_ - begin_;
    std::memmove(text_.data(), from, searched);
    begin_ = 0, end_ = searched;
    if (fill()) continue;
    if (end_ == 0) return false;
    ++line_number_;
    fail("the last line has no end");
  }
}

void LineInput::fail(std::string_view what) const {
  throw StoreDamaged(fmt::format("{}:{}: {}", path_.string(), line_number_, what));
}

}  // namespace dooly::store
