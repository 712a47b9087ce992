#pragma once

#include <cstdint>
#include <unordered_set>

namespace dooly::workload {

/// Numbers seen so far. Those that count up one by one cost nothing, others some 16-40 bytes each.
class IdSet {
 public:
  /// False if it was there already.
  bool insert(std::uint64_t id) {
    if (empty_) {
      empty_ = false;
      first_ = id;
      end_ = id + 1;
      return true;
    }
    if (id >= first_ && id < end_) return false;
    if (id == end_) {
      ++end_;
      return others_.empty() || others_.count(id) == 0;
    }
    return others_.insert(id).second;
  }

 private:
  bool empty_ = true;
  std::uint64_t first_ = 0, end_ = 0;  ///< first_ … end_ - 1 are in
  std::unordered_set<std::uint64_t> others_;
};

}  // namespace dooly::workload
