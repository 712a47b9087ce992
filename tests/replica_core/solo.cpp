#include "solo.hpp"

#include "test_policies.hpp"

namespace dooly::test {

Solo::Solo(const replica::EngineConfig& config, const oracle::FixedOracle& oracle, std::string_view policy)
    : Solo(config, oracle, make_test_policy(policy, 1)) {}

Solo::Solo(const replica::EngineConfig& config, const oracle::FixedOracle& oracle,
           std::unique_ptr<sdk::SchedulerPolicy> policy)
    : policy_(std::move(policy)),
      oracle_(oracle),
      replica_(config, *policy_, oracle_, *this) {}

void Solo::write_down_steps() {
  replica_.engine().record(true);
  replica_.listen(this);
}

replica::ReplicaRequest& Solo::at(double now_s, replica::RequestTag tag, std::uint32_t prompt, std::uint32_t output) {
  replica::ReplicaRequest request;
  request.tag = tag;
  request.prompt = prompt;
  request.output = output;
  request.arrival_s = now_s;
  request.sequence = tag;
  request.unique_key = 1000 + tag;
  return arrivals_.emplace(now_s, request)->second;
}

void Solo::run() {
  while (true) {
    const double turn_s = replica_.next_turn_s();
    if (!arrivals_.empty() && arrivals_.begin()->first <= turn_s) {
      const auto [now_s, request] = *arrivals_.begin();
      arrivals_.erase(arrivals_.begin());
      replica_.catch_up(now_s);
      replica_.submit(request, now_s);
    } else if (turn_s == replica::Replica::kNever) {
      return;
    } else {
      replica_.run_turn();
    }
  }
}

std::uint64_t Solo::gap_count() const {
  std::uint64_t count = 0;
  for (const auto& [gap, times] : gaps_) count += times;
  return count;
}

void Solo::scheduled(replica::RequestTag tag, double now_s, std::uint32_t cached) {
  fates_[tag].scheduled_s = now_s;
  fates_[tag].cached = cached;
}

void Solo::first_token(replica::RequestTag tag, double engine_s, double client_s) {
  fates_[tag].first_engine_s = engine_s;
  fates_[tag].first_client_s = client_s;
}

void Solo::decided(const replica::Batch& batch, double now_s) {
  const replica::CallRecord& call = replica_.engine().last_call();
  Step step{now_s, batch.tokens, {}, {}, batch.shape.shared_tokens, batch.shape.repeated_tokens};
  for (const auto& run : call.running) step.given.emplace_back(run.tag, run.tokens);
  for (const auto& in : call.admitted) step.given.emplace_back(in.tag, in.tokens);
  for (const auto& lost : call.preempted) step.preempted.push_back(lost.tag);
  steps_.push_back(std::move(step));
}

replica::EngineConfig plain_config(std::uint32_t usable) {
  replica::EngineConfig config;
  config.async_scheduling = false;
  config.enable_prefix_caching = false;
  config.groups[0].block_size = config.scheduler_block_size = 4;
  config.num_blocks = usable + 1;
  return config;
}

oracle::FixedOracle linear_ms(double base, double per_token) {
  return oracle::FixedOracle({.base = base * 1e-3, .per_token = per_token * 1e-3});
}

}  // namespace dooly::test
