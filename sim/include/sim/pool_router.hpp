#pragma once

#include "dooly/sdk/router.hpp"
#include "replica_core/replica.hpp"
#include "sim/turn_queue.hpp"
#include "workload/random_stream.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace dooly::sim {

/// The router of one pool and the load figures it sees, `delay_s` old. Cache contents are looked up as they are.
class PoolRouter final : private sdk::RouterView {
 public:
  PoolRouter(std::unique_ptr<sdk::RouterPolicy> policy, std::vector<replica::Replica*> replicas, double delay_s,
             std::uint64_t seed, const std::string& pool_name);

  /// Number of the replica within the pool. Throws std::out_of_range naming the router if it picks none of them.
  std::uint32_t pick(const replica::ReplicaRequest& request, const std::string& router_name, double now_s);
  /// The request counts as its replica's load from now on (no longer).
  void placed(std::uint32_t replica, const replica::ReplicaRequest& request, double now_s) {
    change(replica, 1, visible_tokens(request), now_s);
  }
  void finished(std::uint32_t replica, const replica::ReplicaRequest& request, double now_s) {
    change(replica, -1, visible_tokens(request), now_s);
  }

 private:
  struct Load {
    std::uint32_t requests = 0;
    std::uint64_t tokens = 0;
  };
  struct Change {
    double seen_s;
    std::uint32_t replica;
    std::int32_t requests;
    std::uint64_t tokens;
  };
  void change(std::uint32_t replica, std::int32_t requests, std::uint64_t tokens, double now_s);
  void apply(const Change& change);
  std::uint64_t visible_tokens(const replica::ReplicaRequest& request) const {
    return std::uint64_t{request.prompt} + (sees_outputs_ ? request.output : 0);
  }

  double now_s() const override { return now_s_; }
  std::uint32_t replicas() const override { return static_cast<std::uint32_t>(replicas_.size()); }
  sdk::ReplicaSignal signal(std::uint32_t replica) const override;
  std::uint32_t fewest_requests() const override { return by_requests_.first_replica(); }
  std::uint32_t fewest_tokens() const override { return by_tokens_.first_replica(); }
  std::uint32_t cached_prefix(std::uint32_t replica) const override;
  std::uint32_t random_below(std::uint32_t bound) const override {
    return static_cast<std::uint32_t>(random_.below(bound));
  }

  std::unique_ptr<sdk::RouterPolicy> policy_;
  std::vector<replica::Replica*> replicas_;
  double delay_s_;
  bool counts_;
  bool sees_outputs_;
  std::vector<Load> loads_;
  TurnQueue by_requests_, by_tokens_;  ///< a tournament over loads is what a turn queue is
  std::deque<Change> unseen_;
  mutable workload::RandomStream random_;
  const replica::ReplicaRequest* request_ = nullptr;
  double now_s_ = 0;
};

}  // namespace dooly::sim
