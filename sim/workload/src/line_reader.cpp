#include "line_reader.hpp"

#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace dooly::workload {
namespace {

constexpr std::size_t kStartBytes = 256 * 1024;
constexpr std::size_t kMaxLineBytes = 64 * 1024 * 1024;

}  // namespace

LineReader::LineReader(InputStream stream) : stream_(std::move(stream)), buffer_(kStartBytes) {
  while (end_ - begin_ < 3 && refill()) {
  }
  const std::string_view start(buffer_.data(), end_);
  if (start.starts_with("\xEF\xBB\xBF")) begin_ = 3;
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF"))
    throw WorkloadError(name() + ": is UTF-16, want UTF-8");
}

/// Moves the unread part to the front and reads behind it, in a larger buffer if it is full. False at the end.
bool LineReader::refill() {
  if (at_end_) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kMaxLineBytes)
      throw WorkloadError(fmt::format("{}:{}: line longer than {} MiB", name(), number_ + 1, kMaxLineBytes >> 20));
    buffer_.resize(buffer_.size() * 2);
  }
  const std::size_t got = stream_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += got;
  at_end_ = got == 0;
  return got > 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const auto* found = static_cast<const char*>(std::memchr(start + searched, '\n', end_ - begin_ - searched));
    if (found == nullptr) {
      searched = end_ - begin_;
      if (refill()) continue;
      if (begin_ == end_) return false;
      found = buffer_.data() + end_;
      start = buffer_.data() + begin_;
    }
    line = std::string_view(start, static_cast<std::size_t>(found - start));
    begin_ = std::min(end_, begin_ + line.size() + 1);
    searched = 0;
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    check_text(line);
    if (line.find_first_not_of(" \t") != std::string_view::npos) return true;
  }
}

void LineReader::check_text(std::string_view line) const {
  const auto is_bad = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return static_cast<unsigned>((byte < 0x20) & (byte != '\t')) | static_cast<unsigned>(byte == 0x7F);
  };
  unsigned any = 0;
  for (const char c : line) any |= is_bad(c);  // without a branch: the compiler takes many bytes at once
  if (any == 0) return;
  const auto bad = std::find_if(line.begin(), line.end(), is_bad);
  throw WorkloadError(fmt::format("{}:{}: not a text file: byte 0x{:02x} at column {}", name(), number_,
                                  static_cast<unsigned char>(*bad), bad - line.begin() + 1));
}

}  // namespace dooly::workload
