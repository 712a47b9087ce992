#include "sim/pool_router.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace dooly::sim {

PoolRouter::PoolRouter(std::unique_ptr<sdk::RouterPolicy> policy, std::vector<replica::Replica*> replicas,
                       double delay_s, std::uint64_t seed, const std::string& pool_name)
    : policy_(std::move(policy)),
      replicas_(std::move(replicas)),
      delay_s_(delay_s),
      counts_(policy_->needs() != sdk::RouterPolicy::Needs::kNothing),
      sees_outputs_(replicas_.front()->config().grant_output_lengths),
      loads_(replicas_.size()),
      by_requests_(static_cast<std::uint32_t>(replicas_.size())),
      by_tokens_(static_cast<std::uint32_t>(replicas_.size())),
      random_(seed, "router/" + pool_name) {
  for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) {
    by_requests_.set(replica, 0);
    by_tokens_.set(replica, 0);
  }
}

void PoolRouter::change(std::uint32_t replica, std::int32_t requests, std::uint64_t tokens, double now_s) {
  if (!counts_) return;
  const Change change{now_s + delay_s_, replica, requests, tokens};
  if (delay_s_ > 0) {
    unseen_.push_back(change);
  } else {
    apply(change);
  }
}

void PoolRouter::apply(const Change& change) {
  Load& load = loads_[change.replica];
  if (change.requests > 0) {
    ++load.requests;
    load.tokens += change.tokens;
  } else {
    --load.requests;
    load.tokens -= change.tokens;
  }
  by_requests_.set(change.replica, load.requests);
  by_tokens_.set(change.replica, static_cast<double>(load.tokens));
}

std::uint32_t PoolRouter::pick(const replica::ReplicaRequest& request, const std::string& router_name, double now_s) {
  now_s_ = now_s;
  request_ = &request;
  while (!unseen_.empty() && unseen_.front().seen_s <= now_s) {
    apply(unseen_.front());
    unseen_.pop_front();
  }
  sdk::RequestView view;
  view.prompt = request.prompt;
  view.output = sees_outputs_ ? request.output : 0;
  view.priority = request.priority;
  view.request_class = request.request_class;
  view.arrival_s = request.arrival_s;
  view.deadline_s = request.deadline_s;
  const std::uint32_t picked = policy_->pick(*this, view);
  if (picked >= replicas_.size())
    throw std::out_of_range(fmt::format("router '{}' picked replica {} of {}", router_name, picked, replicas_.size()));
  return picked;
}

sdk::ReplicaSignal PoolRouter::signal(std::uint32_t replica) const {
  sdk::ReplicaSignal signal{.requests = loads_[replica].requests, .tokens = loads_[replica].tokens};
  signal.total_blocks = replicas_[replica]->config().num_blocks - 1;
  if (policy_->needs() != sdk::RouterPolicy::Needs::kCacheState) return signal;
  replicas_[replica]->catch_up(now_s_);
  signal.free_blocks = replicas_[replica]->free_blocks();
  return signal;
}

std::uint32_t PoolRouter::cached_prefix(std::uint32_t replica) const {
  replicas_[replica]->catch_up(now_s_);
  return replicas_[replica]->cached_prefix(*request_);
}

}  // namespace dooly::sim
