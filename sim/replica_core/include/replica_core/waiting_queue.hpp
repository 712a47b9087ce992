#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace dooly::replica {

/// Queue of waiting slots: first come, first served with access to both ends, or ordered by (priority, arrival,
/// sequence).
class WaitingQueue {
 public:
  using Rank = std::tuple<std::int32_t, double, std::uint64_t>;
  explicit WaitingQueue(bool by_priority) : by_priority_(by_priority) {}

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint32_t head() const { return by_priority_ ? ranked_.begin()->second : head_; }
  void push_back(std::uint32_t slot, const Rank& rank);
  void push_front(std::uint32_t slot, const Rank& rank);  ///< by priority: to its rank
  void remove(std::uint32_t slot, const Rank& rank);

  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  std::uint32_t head_or_none() const { return empty() ? kNone : head(); }
  std::uint32_t next(std::uint32_t slot, const Rank& rank) const {
    if (!by_priority_) return links_[slot].next;
    const auto after = ranked_.upper_bound({rank, slot});
    return after == ranked_.end() ? kNone : after->second;
  }

  /// Slots in pop order, until `visit` says false.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (by_priority_) {
      for (const auto& [rank, slot] : ranked_)
        if (!visit(slot)) return;
      return;
    }
    for (std::uint32_t slot = head_; slot != kNone; slot = links_[slot].next)
      if (!visit(slot)) return;
  }

 private:
  struct Link {
    std::uint32_t previous = kNone, next = kNone;
  };
  void reserve(std::uint32_t slot) {
    if (links_.size() <= slot) links_.resize(slot + 1);
  }
  bool by_priority_;
  std::uint32_t size_ = 0;
  std::uint32_t head_ = kNone, tail_ = kNone;
  std::vector<Link> links_;
  std::set<std::pair<Rank, std::uint32_t>> ranked_;
};

inline void WaitingQueue::push_back(std::uint32_t slot, const Rank& rank) {
  ++size_;
  if (by_priority_) {
    ranked_.emplace(rank, slot);
    return;
  }
  reserve(slot);
  links_[slot] = {tail_, kNone};
  (tail_ == kNone ? head_ : links_[tail_].next) = slot;
  tail_ = slot;
}

inline void WaitingQueue::push_front(std::uint32_t slot, const Rank& rank) {
  if (by_priority_) return push_back(slot, rank);
  ++size_;
  reserve(slot);
  links_[slot] = {kNone, head_};
  (head_ == kNone ? tail_ : links_[head_].previous) = slot;
  head_ = slot;
}

inline void WaitingQueue::remove(std::uint32_t slot, const Rank& rank) {
  --size_;
  if (by_priority_) {
    ranked_.erase({rank, slot});
    return;
  }
  const Link link = links_[slot];
  (link.previous == kNone ? head_ : links_[link.previous].next) = link.next;
  (link.next == kNone ? tail_ : links_[link.next].previous) = link.previous;
}

}  // namespace dooly::replica
