#pragma once

#include "dooly/sdk/router.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace dooly::sdk::testing {

/// A pool as a test writes it down; random draws come from a fixed sequence (splitmix64).
class FakeRouterView final : public RouterView {
 public:
  explicit FakeRouterView(std::vector<ReplicaSignal> replica_signals)
      : signals(std::move(replica_signals)),
        cached(signals.size()) {}

  double now_s() const override { return 0; }
  std::uint32_t replicas() const override { return static_cast<std::uint32_t>(signals.size()); }
  ReplicaSignal signal(std::uint32_t replica) const override { return signals.at(replica); }
  std::uint32_t fewest_requests() const override {
    return lowest([](const ReplicaSignal& signal) { return std::uint64_t{signal.requests}; });
  }
  std::uint32_t fewest_tokens() const override {
    return lowest([](const ReplicaSignal& signal) { return signal.tokens; });
  }
  std::uint32_t cached_prefix(std::uint32_t replica) const override { return cached.at(replica); }
  std::uint32_t random_below(std::uint32_t bound) const override {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::uint32_t>(((z ^ (z >> 31)) >> 32) * bound >> 32);
  }

  std::vector<ReplicaSignal> signals;
  std::vector<std::uint32_t> cached;  ///< tokens of the request's prompt in each replica's prefix cache

 private:
  template <class Load>
  std::uint32_t lowest(Load load) const {
    std::uint32_t best = 0;
    for (std::uint32_t replica = 1; replica < replicas(); ++replica) {
      if (load(signals[replica]) < load(signals[best])) best = replica;
    }
    return best;
  }

  mutable std::uint64_t state_ = 1;
};

}  // namespace dooly::sdk::testing
