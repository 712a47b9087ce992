#pragma once

#include <cstdint>
#include <vector>

namespace dooly::replica {

/// The running list: slots in order of admission. Appending, removing and asking for the last cost O(1); positions stay
/// valid until the next append.
class RunningList {
 public:
  static constexpr std::uint32_t kHole = 0xFFFFFFFFU;

  std::uint32_t size() const { return live_; }
  std::size_t end() const { return slots_.size(); }
  std::uint32_t at(std::size_t position) const { return slots_[position]; }  ///< kHole: nobody
  std::uint32_t last() const { return slots_.empty() ? kHole : slots_.back(); }
  std::size_t position(std::uint32_t slot) const { return positions_[slot]; }

  void append(std::uint32_t slot) {
    if (slots_.size() > 32 && slots_.size() > 2 * std::size_t{live_}) compact();
    if (positions_.size() <= slot) positions_.resize(slot + 1);
    positions_[slot] = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(slot);
    ++live_;
  }
  void remove(std::uint32_t slot) {
    slots_[positions_[slot]] = kHole;
    --live_;
    while (!slots_.empty() && slots_.back() == kHole) slots_.pop_back();
  }
  /// First position >= `position` that holds somebody, or end().
  std::size_t next(std::size_t position) const {
    while (position < slots_.size() && slots_[position] == kHole) ++position;
    return position;
  }

 private:
  void compact() {
    std::size_t to = 0;
    for (const std::uint32_t slot : slots_) {
      if (slot == kHole) continue;
      positions_[slot] = static_cast<std::uint32_t>(to);
      slots_[to++] = slot;
    }
    slots_.resize(to);
  }
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> positions_;
  std::uint32_t live_ = 0;
};

}  // namespace dooly::replica
