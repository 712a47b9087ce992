#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace dooly::profiling {

/// Where processes wait for each other without the system's help, so that they leave within a microsecond. Lies in
/// memory that they share; whoever never arrives is the parent's business.
class SpinBarrier {
 public:
  void wait(std::uint32_t ranks) {
    const std::uint32_t round = round_.load();
    if (arrived_.fetch_add(1) + 1 == ranks) {
      arrived_.store(0);
      round_.fetch_add(1);
      return;
    }
    for (std::uint32_t spins = 0; round_.load() == round; ++spins)
      if (spins > kPatience) ::sched_yield();  // more ranks than cores
  }

 private:
  static constexpr std::uint32_t kPatience = 2000;
  std::atomic<std::uint32_t> arrived_{0}, round_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace dooly::profiling
