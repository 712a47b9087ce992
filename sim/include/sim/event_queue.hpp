#pragma once

#include "sim/event.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dooly::sim {

/// One-shot events in order of (time, kind, id), equal ones in order of posting: a 4-ary heap without allocation in the
/// steady state.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  double first_time_s() const { return heap_.empty() ? kNever : heap_.front().time_s; }
  EventKind first_kind() const { return static_cast<EventKind>(heap_.front().rank >> kIdBits); }

  /// Throws std::logic_error if the id does not fit 56 bits.
  void push(const Event& event);
  /// The queue must not be empty.
  Event pop();

 private:
  static constexpr unsigned kIdBits = 56;
  struct Entry {
    double time_s;
    std::uint64_t rank;  ///< kind and id
    std::uint64_t sequence;
    std::uint64_t value;
  };
  static bool before(const Entry& a, const Entry& b) {
    if (a.time_s != b.time_s) return a.time_s < b.time_s;
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.sequence < b.sequence;
  }

  std::vector<Entry> heap_;
  std::uint64_t pushed_ = 0;
};

}  // namespace dooly::sim
