#include "sim/event_queue.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace dooly::sim {

void EventQueue::push(const Event& event) {
  if (event.id >> kIdBits) throw std::logic_error(fmt::format("event id {} does not fit 56 bits", event.id));
  const Entry entry{event.time_s, static_cast<std::uint64_t>(event.kind) << kIdBits | event.id, pushed_++, event.value};
  std::size_t place = heap_.size();
  heap_.push_back(entry);
  while (place > 0) {
    const std::size_t parent = (place - 1) / 4;
    if (!before(entry, heap_[parent])) break;
    heap_[place] = heap_[parent];
    place = parent;
  }
  heap_[place] = entry;
}

Event EventQueue::pop() {
  const Entry first = heap_.front();
  const Entry last = heap_.back();
  heap_.pop_back();
  const std::size_t size = heap_.size();
  if (size > 0) {
    std::size_t place = 0;
    for (std::size_t child = 1; child < size; child = 4 * place + 1) {
      const std::size_t end = std::min(child + 4, size);
      std::size_t least = child;
      for (std::size_t other = child + 1; other < end; ++other)
        if (before(heap_[other], heap_[least])) least = other;
      if (!before(heap_[least], last)) break;
      heap_[place] = heap_[least];
      place = least;
    }
    heap_[place] = last;
  }
  return {first.time_s, static_cast<EventKind>(first.rank >> kIdBits), first.rank & ((std::uint64_t{1} << kIdBits) - 1),
          first.value};
}

}  // namespace dooly::sim
