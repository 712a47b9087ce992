// The end of a run: requests that did not end, totals, invariants.
#include "simulation_impl.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::sim {

using Role = scenario::Pool::Role;

/// Requests that did not end are reported as unfinished, and what they wait for.
void Simulation::Impl::report_rest(RunOutcome& outcome) {
  constexpr std::size_t kShown = 20;
  if (outcome.end == RunOutcome::End::kStalled) {
    std::vector<std::vector<std::pair<RequestTag, std::string>>> stuck;
    for (const auto& replica : replicas_) stuck.push_back(replica->engine().stuck());
    for (std::size_t round = 0; round < kShown; ++round)  // some of every replica: causes are often elsewhere
      for (std::size_t r = 0; r < replicas_.size(); ++r)
        if (round < stuck[r].size() && outcome.stuck.size() < kShown)
          outcome.stuck.push_back(fmt::format("request {} on {}.{}: {}", live_[stuck[r][round].first].request.id,
                                              deployment_.pools[pool_of_replica_[r]].name,
                                              r - pools_[pool_of_replica_[r]].first_replica, stuck[r][round].second));
    outcome.stuck_total = live_.count();
  }
  std::vector<RequestTag> tags;
  live_.for_each_by_row([&](RequestTag tag, LiveRequest& live) {
    live.record.status = results::RequestStatus::kUnfinished;
    live.record.reason = recorder_.reason(outcome.end == RunOutcome::End::kInterrupted ? "the run was interrupted"
                                          : outcome.end == RunOutcome::End::kBroken    ? "the run broke off"
                                                                                       : "the run stalled");
    recorder_.finished(live.record);
    if (sinks_.ended) sinks_.ended(live.record);
    tags.push_back(tag);
  });
  for (const RequestTag tag : tags) live_.release(tag);
}

results::RunTotals Simulation::Impl::totals(const RunOutcome& outcome) {
  results::RunTotals totals;
  totals.scenario = identity_;
  totals.version = program_version();
  totals.simulated_s = std::max(pump_.now_s(), last_client_s_);
  totals.submitted = submitted_;
  totals.class_names.assign(source_->classes().begin(), source_->classes().end());
  for (std::size_t p = 0; p < deployment_.pools.size(); ++p) {
    const PoolDeployment& pool = deployment_.pools[p];
    results::PoolTotals out;
    out.name = pool.name;
    out.role = pool.role == Role::kMixed ? "mixed" : pool.role == Role::kPrefill ? "prefill" : "decode";
    out.host = pool.platform.name;
    out.gpu = pool.gpu->name;
    out.model = pool.model.name;
    out.device = pool.device_times;
    out.gpus_per_replica = pool.tensor_parallel;
    out.kv_blocks = pool.engine.num_blocks - 1;
    for (std::uint32_t r = 0; r < pool.replicas; ++r)
      out.replicas.push_back(replicas_[pools_[p].first_replica + r]->stats());
    totals.pools.push_back(std::move(out));
  }
  const NetworkStats& network = fabric_.stats();
  totals.network = waits_;
  totals.network.flows = network.flows;
  totals.network.bytes = static_cast<double>(network.bytes);
  totals.network.flow_seconds = network.flow_s;
  totals.network.max_concurrent = network.max_concurrent;
  totals.checks = verify(outcome);
  const bool caching = std::any_of(deployment_.pools.begin(), deployment_.pools.end(),
                                   [](const PoolDeployment& pool) { return pool.engine.enable_prefix_caching; });
  if (caching && source_->columns().blocks)
    totals.warnings.push_back("the trace's prefixes were cached in reality; here every prefix cache started cold");
  if (truncated_ > 0) totals.warnings.push_back(fmt::format("{} prompts were cut to fit max_model_len", truncated_));
  if (outcome.end == RunOutcome::End::kInterrupted) totals.partial = "interrupted";
  if (outcome.end == RunOutcome::End::kBroken)
    totals.partial = "broken off: " + (bad_row_ ? "a trace has a bad row" : outcome.broken);
  if (outcome.end == RunOutcome::End::kStalled)
    totals.partial = fmt::format("stalled: {} requests {}", outcome.stuck_total,
                                 livelock_ ? "preempt each other without end, no token comes" : "cannot go on");
  return totals;
}

/// Invariants. A broken one is a bug: std::logic_error.
std::vector<results::Check> Simulation::Impl::verify(const RunOutcome& outcome) const {
  std::vector<results::Check> checks;
  checks.push_back({"time_never_runs_back", fmt::format("{} iterations", outcome.iterations)});
  if (outcome.end == RunOutcome::End::kBroken) return checks;  // a replica may stand in the middle of a call
  std::uint64_t produced = 0;
  for (std::size_t r = 0; r < replicas_.size(); ++r) {
    replicas_[r]->check_invariants();
    produced += replicas_[r]->stats().output_tokens;
    if (outcome.end == RunOutcome::End::kDone && !replicas_[r]->is_idle())
      throw std::logic_error(fmt::format("replica {} is not idle at the end of the run", r));
  }
  checks.push_back({"kv_blocks_balance", fmt::format("{} replicas", replicas_.size())});
  if (outcome.end == RunOutcome::End::kDone) {
    for (const auto& replica : replicas_)
      if (replica->free_blocks() != replica->config().num_blocks - 1)
        throw std::logic_error("KV blocks are still referenced at the end of the run");
    checks.push_back({"kv_references_return", fmt::format("{} replicas", replicas_.size())});
    // A prefill's token is thrown away if the decode side emits the first one.
    const std::uint64_t received = completed_output_ + (first_token_from_prefill_ ? 0 : handed_over_);
    if (produced != received)
      throw std::logic_error(fmt::format("replicas produced {} tokens but requests received {}", produced, received));
    checks.push_back({"output_tokens_balance", fmt::format("{} tokens", produced)});
    if (transfers_.size() != 0) throw std::logic_error("KV transfers are left at the end of the run");
    checks.push_back({"transfers_end", fmt::format("{} flows", fabric_.stats().flows)});
  }
  return checks;
}

}  // namespace dooly::sim
