#pragma once

#include <cstdint>

namespace dooly::replica {

/// KV blocks that several requests hold at once: what their attention reads more than once a step.
struct SharedKv {
  std::uint64_t blocks = 0;   ///< with two holders or more
  std::uint64_t repeats = 0;  ///< holders of these beyond the first, summed

  /// A block that had `before` holders has one more.
  void raised(std::uint32_t before) {
    repeats += before >= 1 ? 1 : 0;
    blocks += before == 1 ? 1 : 0;
  }
  /// A block has one holder fewer: `left` of them.
  void lowered(std::uint32_t left) {
    repeats -= left >= 1 ? 1 : 0;
    blocks -= left == 1 ? 1 : 0;
  }
  bool operator==(const SharedKv&) const = default;
};

}  // namespace dooly::replica
