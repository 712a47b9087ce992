#include "waiting_rows.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace dooly::results {
namespace {

constexpr std::size_t kBlock = 256;
constexpr FinishedRequest kNothing{.row = kNoId};

}  // namespace

WaitingRows::WaitingRows(std::filesystem::path spill, std::size_t window)
    : path_(std::move(spill)),
      window_(window),
      ring_(std::min<std::size_t>(window, 1024), kNothing) {}

WaitingRows::~WaitingRows() {
  if (file_ >= 0) ::close(file_);
}

void WaitingRows::put_far(const FinishedRequest& request) {
  if (request.row < next_) reject_twice(request.row);
  const std::uint64_t distance = request.row - next_;
  if (distance >= window_) return spill(request);
  grow(distance);
  put(request);
}

void WaitingRows::grow(std::uint64_t distance) {
  std::vector<FinishedRequest> larger(std::bit_ceil(distance + 1), kNothing);
  for (const FinishedRequest& row : ring_) {
    if (row.row != kAbsent && row.row >= next_) larger[row.row & (larger.size() - 1)] = row;
  }
  ring_ = std::move(larger);
}

void WaitingRows::spill(const FinishedRequest& request) {
  if (spilled_.size() <= request.row) spilled_.resize(request.row + request.row / 4 + 1024);
  if (spilled_[request.row]) reject_twice(request.row);
  spilled_[request.row] = true;
  if (file_ < 0 && failure_.empty()) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file_ < 0) return fail("cannot open for writing", errno);
    ::unlink(path_.c_str());
  }
  if (!failure_.empty()) return;
  const auto offset = static_cast<off_t>(request.row * sizeof request);
  errno = ENOSPC;  // what a short write means
  if (::pwrite(file_, &request, sizeof request, offset) != ssize_t{sizeof request}) fail("cannot write", errno);
}

const FinishedRequest* WaitingRows::read_spilled() {
  const std::uint64_t ahead = next_ - block_first_;
  if (ahead < block_.size() && block_[ahead].row == next_) return &block_[ahead];
  if (!failure_.empty()) return nullptr;
  block_first_ = next_;
  block_.assign(kBlock, kNothing);  // places not written yet read as zeros, and row 0 never is in the file
  const auto offset = static_cast<off_t>(next_ * sizeof(FinishedRequest));
  if (::pread(file_, block_.data(), kBlock * sizeof(FinishedRequest), offset) < 0) fail("cannot read", errno);
  if (block_.front().row == next_) return &block_.front();
  if (failure_.empty()) fail("cannot read", EIO);
  return nullptr;
}

void WaitingRows::fail(const char* what, int error) {
  if (failure_.empty()) failure_ = path_.string() + ": " + what + ": " + std::strerror(error);
}

void WaitingRows::reject_twice(std::uint64_t row) {
  throw std::logic_error("request of row " + std::to_string(row) + " was reported as finished twice");
}

}  // namespace dooly::results
