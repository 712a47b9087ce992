#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "results/finished_request.hpp"

namespace dooly::results {

/// Puts finished requests back into the order of their row numbers. Up to `window` rows from the next one on wait in a
/// ring, later ones in a nameless temporary file at the place of their number.
class WaitingRows {
 public:
  /// `spill` is created, and unlinked at once, only when the ring does not suffice. `window`: a power of two.
  WaitingRows(std::filesystem::path spill, std::size_t window);
  ~WaitingRows();
  WaitingRows(const WaitingRows&) = delete;
  WaitingRows& operator=(const WaitingRows&) = delete;

  void put(const FinishedRequest& request) {
    if (request.row - next_ >= ring_.size()) [[unlikely]]
      return put_far(request);
    FinishedRequest& slot = ring_[request.row & (ring_.size() - 1)];
    if (slot.row == request.row) [[unlikely]]
      reject_twice(request.row);
    slot = request;
  }
  /// The row that is next in order, if it has come; valid until pop() or put().
  const FinishedRequest* next() {
    const FinishedRequest& slot = ring_[next_ & (ring_.size() - 1)];
    if (slot.row == next_) [[likely]]
      return &slot;
    return next_ < spilled_.size() && spilled_[next_] ? read_spilled() : nullptr;
  }
  void pop() { ++next_; }

  std::uint64_t next_row() const { return next_; }
  const std::string& failure() const { return failure_; }  ///< the temporary file's; empty: none

 private:
  static constexpr std::uint64_t kAbsent = kNoId;
  void put_far(const FinishedRequest& request);
  void grow(std::uint64_t distance);
  void spill(const FinishedRequest& request);
  const FinishedRequest* read_spilled();
  void fail(const char* what, int error);
  [[noreturn]] static void reject_twice(std::uint64_t row);

  std::filesystem::path path_;
  std::size_t window_;
  std::uint64_t next_ = 0;
  std::vector<FinishedRequest> ring_;  ///< row kAbsent or an old one: nothing there
  int file_ = -1;
  std::vector<bool> spilled_;           ///< by row
  std::vector<FinishedRequest> block_;  ///< read ahead from the file, rows from block_first_ on
  std::uint64_t block_first_ = 0;
  std::string failure_;
};

}  // namespace dooly::results
