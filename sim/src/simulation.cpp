#include "simulation_impl.hpp"

#include "workload/workload_error.hpp"

#include <algorithm>

namespace dooly::sim {

using Role = scenario::Pool::Role;

Simulation::Impl::Impl(const scenario::Scenario& scenario, Deployment deployment,
                       std::unique_ptr<workload::RequestSource> source, results::ScenarioIdentity identity,
                       RunSinks sinks)
    : scenario_(scenario),
      deployment_(std::move(deployment)),
      source_(std::move(source)),
      identity_(std::move(identity)),
      sinks_(std::move(sinks)),
      first_token_from_prefill_(scenario.kv_transfer.first_token == scenario::KvTransferSpec::FirstToken::kPrefill),
      pump_(total_replicas(), *this),
      fabric_(port_plan(scenario, deployment_), pump_),
      transfers_(fabric_, *this),
      recorder_(
          [this](std::uint16_t request_class) {
            const scenario::Slo slo = scenario_.slo_of(source_->classes()[request_class]);
            return results::SloLimits{slo.ttft_s, slo.tpot_s, slo.e2e_s};
          },
          sinks_.requests),
      livelock_watch_(total_replicas()) {
  pump_.handle(EventKind::kAnswer, *this);
  build_replicas();
}

std::uint32_t Simulation::Impl::total_replicas() const {
  std::uint32_t sum = 0;
  for (const PoolDeployment& pool : deployment_.pools) sum += pool.replicas;
  return sum;
}

PortPlan Simulation::Impl::port_plan(const scenario::Scenario& scenario, const Deployment& deployment) {
  std::vector<FlowEnd> ends;
  for (const PoolDeployment& pool : deployment.pools)
    for (const scenario::ReplicaPlace& place : pool.places) ends.push_back({place, pool.role != Role::kMixed});
  return {scenario.cluster, deployment.nvlink_by_group, ends};
}

void Simulation::Impl::build_replicas() {
  for (std::size_t p = 0; p < deployment_.pools.size(); ++p) {
    const PoolDeployment& pool = deployment_.pools[p];
    PoolState state{.first_replica = static_cast<std::uint32_t>(replicas_.size()),
                    .router = nullptr,
                    .router_name = std::string(pool.router.name())};
    std::vector<replica::Replica*> members;
    for (std::uint32_t number = 0; number < pool.replicas; ++number) {
      policies_.push_back(pool.policy.make());
      replicas_.push_back(std::make_unique<replica::Replica>(pool.engine, *policies_.back(), *pool.oracle, *this));
      replicas_.back()->set_number(number);
      members.push_back(replicas_.back().get());
      pool_of_replica_.push_back(static_cast<std::uint32_t>(p));
      if (sinks_.iterations != nullptr || sinks_.decisions != nullptr)
        listeners_.push_back(
            std::make_unique<RunListener>(static_cast<std::uint32_t>(p), number, *members.back(), live_, sinks_));
    }
    state.router = std::make_unique<PoolRouter>(pool.router.make(), std::move(members),
                                                scenario_.pools[p].router.signal_delay_s, scenario_.seed, pool.name);
    pools_.push_back(std::move(state));
  }
}

/// Now and then: tells how far the run is, and stops it if somebody asks.
void Simulation::Impl::heed_watchers() {
  if ((++ticks_ & 0x3FFF) != 0) return;
  const bool asked = sinks_.interrupted != nullptr && sinks_.interrupted->load(std::memory_order_relaxed);
  const bool go_on = !sinks_.progress || sinks_.progress(recorder_.ended(), pump_.now_s());
  if (!asked && go_on) return;
  interrupted_ = true;
  pump_.stop();
}

/// Now and then: do the replicas' turns still get anybody anywhere?
void Simulation::Impl::heed_livelock() {
  if ((++turns_ & 0x3FFF) != 0) return;
  livelock_ = livelock_watch_.is_stuck(recorder_.ended(), [this] {
    std::uint64_t tokens = 0;
    for (const auto& replica : replicas_) tokens += replica->stats().output_tokens;
    return tokens;
  });
  if (livelock_) pump_.stop();
}

RunOutcome Simulation::Impl::run() {
  RunOutcome outcome;
  try {
    pump_.set_next_arrival(source_->next_arrival_s());
    pump_.run();
  } catch (const workload::WorkloadError& error) {
    outcome.broken = error.what();  // names a path, which results must not
    bad_row_ = true;
  } catch (const std::runtime_error& error) {
    outcome.broken = error.what();
  }
  outcome.events = pump_.handled();
  if (!outcome.broken.empty()) {
    outcome.end = RunOutcome::End::kBroken;
  } else if (interrupted_) {
    outcome.end = RunOutcome::End::kInterrupted;
  } else if (live_.count() > 0 || !source_->exhausted()) {
    outcome.end = RunOutcome::End::kStalled;
  }
  report_rest(outcome);
  for (const auto& replica : replicas_) outcome.iterations += replica->stats().iterations;
  outcome.summary = recorder_.finish(totals(outcome));
  return outcome;
}

Simulation::Simulation(const scenario::Scenario& scenario, Deployment deployment,
                       std::unique_ptr<workload::RequestSource> source, results::ScenarioIdentity identity,
                       RunSinks sinks)
    : impl_(std::make_unique<Impl>(scenario, std::move(deployment), std::move(source), std::move(identity),
                                   std::move(sinks))) {}

Simulation::~Simulation() = default;

void Simulation::set_fast_forward(bool on) { impl_->set_fast_forward(on); }
RunOutcome Simulation::run() { return impl_->run(); }

std::string program_version() { return DOOLY_VERSION; }

}  // namespace dooly::sim
