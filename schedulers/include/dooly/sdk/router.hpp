#pragma once

#include "dooly/sdk/request_view.hpp"

#include <cstdint>

namespace dooly::sdk {

/// What a router sees of one replica. The counts are as old as the scenario's signal_delay.
struct ReplicaSignal {
  std::uint32_t requests = 0;         ///< routed to it and not finished
  std::uint64_t tokens = 0;  ///< prompt tokens of those requests, and their outputs where the scenario grants them
  std::uint32_t free_blocks = 0;
  std::uint32_t total_blocks = 0;
};

/// The pool as the router sees it when one request is to be placed. Replicas are numbered from 0.
class RouterView {
 public:
  virtual double now_s() const = 0;
  virtual std::uint32_t replicas() const = 0;
  virtual ReplicaSignal signal(std::uint32_t replica) const = 0;
  /// Replica with the fewest requests (tokens), the lowest number among equals; O(1) for the engine to answer.
  virtual std::uint32_t fewest_requests() const = 0;
  virtual std::uint32_t fewest_tokens() const = 0;
  /// Tokens of this request's prompt that the replica's prefix cache holds now.
  virtual std::uint32_t cached_prefix(std::uint32_t replica) const = 0;
  /// Next draw of this router's own named random stream, uniform over [0, bound).
  virtual std::uint32_t random_below(std::uint32_t bound) const = 0;

 protected:
  RouterView() = default;
  ~RouterView() = default;
  RouterView(const RouterView&) = default;
  RouterView& operator=(const RouterView&) = default;
};

/// Places requests on the replicas of one pool. One object serves one pool and keeps its own counters.
class RouterPolicy {
 public:
  virtual ~RouterPolicy() = default;
  virtual std::uint32_t pick(const RouterView& view, const RequestView& request) = 0;
  /// What pick() looks at; the engine keeps only these signals up to date.
  enum class Needs : std::uint8_t { kNothing, kCounts, kCacheState };
  virtual Needs needs() const { return Needs::kCacheState; }
};

}  // namespace dooly::sdk
