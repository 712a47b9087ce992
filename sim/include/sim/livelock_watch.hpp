#pragma once

#include <cstddef>
#include <cstdint>

namespace dooly::sim {

/// Sees a run in which time goes on but nobody gets anywhere: requests that preempt each other for ever (vLLM does so
/// too, for example with a cache that holds no two of them under deferred frees). Asked every few ten thousand events.
class LivelockWatch {
 public:
  explicit LivelockWatch(std::size_t replicas) : patience_(64 + replicas / 16) {}

  /// `ended`: requests that have ended; `tokens()`: output tokens of all replicas, asked for now and then only.
  template <class Tokens>
  bool is_stuck(std::uint64_t ended, Tokens&& tokens) {
    if (ended != ended_) {
      ended_ = ended;
      quiet_ = 0;
      return false;
    }
    if (++quiet_ % patience_ != 0) return false;
    const std::uint64_t now = tokens();
    const bool stuck = quiet_ > patience_ && now == tokens_;
    tokens_ = now;
    return stuck;
  }

 private:
  std::uint64_t patience_;
  std::uint64_t ended_ = 0, quiet_ = 0, tokens_ = 0;
};

}  // namespace dooly::sim
