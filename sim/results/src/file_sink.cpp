#include "results/file_sink.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "results/errors.hpp"

namespace dooly::results {

FileSink::FileSink(std::filesystem::path path)
    : path_(std::move(path)),
      buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) throw WriteFailed(path_.string() + ": cannot open for writing: " + std::strerror(errno));
}

FileSink::~FileSink() {
  if (file_ >= 0) ::close(file_);
}

void FileSink::append(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = std::min(text.size(), kLargestWrite);
    char* const to = reserve(size);
    std::memcpy(to, text.data(), size);
    commit(to + size);
    text.remove_prefix(size);
  }
}

void FileSink::flush() {
  write_all(buffer_.get(), used_);
  flushed_ += used_;
  used_ = 0;
}

void FileSink::write_all(const char* from, std::size_t size) {
  while (size > 0 && !failed()) {
    const ssize_t written = ::write(file_, from, size);
    if (written < 0) {
      if (errno != EINTR) fail(errno);
      continue;
    }
    from += written;
    size -= static_cast<std::size_t>(written);
  }
}

void FileSink::fail(int error) {
  if (!failed()) failure_ = path_.string() + ": cannot write: " + std::strerror(error);
}

std::string FileSink::read_back(std::uint64_t offset, std::size_t size) {
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size && !failed()) {
    const ssize_t got = ::pread(file_, text.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      fail(got < 0 ? errno : EIO);
    else
      done += static_cast<std::size_t>(got);
  }
  return text;
}

void FileSink::rewrite(std::uint64_t offset, std::string_view text) {
  while (!text.empty() && !failed()) {
    const ssize_t written = ::pwrite(file_, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno != EINTR) fail(errno);
      continue;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void FileSink::finish() {
  flush();
  if (::close(std::exchange(file_, -1)) != 0) fail(errno);  // a network file system may report a full disk only here
  if (failed()) throw WriteFailed(failure_);
}

}  // namespace dooly::results
