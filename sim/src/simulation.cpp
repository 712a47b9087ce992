#include "sim/simulation.hpp"

#include "front_door.hpp"
#include "live_requests.hpp"
#include "run_listener.hpp"
#include "sim/event_pump.hpp"
#include "sim/fabric.hpp"
#include "sim/kv_transfer.hpp"
#include "sim/pool_router.hpp"

#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::sim {

using replica::RequestTag;
using Role = scenario::Pool::Role;
using Stage = LiveRequest::Stage;

/// The outline of a run. A request goes: on_arrival -> front door -> router -> Replica (on_turn) -> first_token,
/// finished -> Recorder; in a prefill/decode split finished -> hand_over -> KvTransfers -> the decode Replica.
class Simulation::Impl final : private PumpClient,
                               private EventSink,
                               private KvTransferClient,
                               public replica::ReplicaObserver {
 public:
  Impl(const scenario::Scenario& scenario, Deployment deployment, std::unique_ptr<workload::RequestSource> source,
       results::ScenarioIdentity identity, RunSinks sinks);
  RunOutcome run();
  void set_fast_forward(bool on) {
    for (const auto& replica : replicas_) replica->set_fast_forward(on);
  }

 private:
  struct ClassRoute {
    std::optional<std::size_t> entry, decode;
  };
  struct PoolState {
    std::uint32_t first_replica = 0;
    std::unique_ptr<PoolRouter> router;
    std::string router_name;
  };

  void build_replicas();
  std::uint32_t total_replicas() const;
  static PortPlan port_plan(const scenario::Scenario& scenario, const Deployment& deployment);

  // PumpClient
  void on_arrival(double now_s) override;
  double on_turn(std::uint32_t replica, double now_s) override;
  // EventSink: answers reach clients that wait for them
  void on_event(const Event& event) override;
  // KvTransferClient
  void load_finished(std::uint32_t decode_replica, RequestTag request, double now_s) override;
  void release_held(std::uint32_t prefill_replica, RequestTag request, double now_s) override;
  void transferred(RequestTag request, const KvTransferTimes& times, double now_s) override;
  // ReplicaObserver
  void scheduled(RequestTag request, double now_s, std::uint32_t cached) override;
  void first_token(RequestTag request, double engine_s, double client_s) override;
  void finished(const replica::Completion& completion) override;
  void load_started(RequestTag request, std::uint32_t local, std::uint32_t tokens, double now_s) override;
  void token_gaps(std::uint16_t request_class, double gap_s, std::uint64_t count) override {
    recorder_.gaps(request_class, gap_s, count);
  }
  void token_gap_run(std::uint16_t request_class, std::span<const double> gaps_s, std::uint64_t count) override {
    recorder_.gap_run(request_class, gaps_s, count);
  }

  const ClassRoute& route_of(std::uint16_t request_class);
  std::uint16_t refusal(const LiveRequest& live, const ClassRoute& route);
  void place(RequestTag tag, std::size_t pool_index, Stage stage, double now_s);
  replica::ReplicaRequest replica_request(RequestTag tag, const LiveRequest& live, Stage stage) const;
  void leave_router(const LiveRequest& live, double now_s);
  void hand_over(RequestTag tag, double now_s);
  std::uint64_t transfer_bytes(RequestTag tag, std::uint32_t tokens);
  void complete(RequestTag tag, const replica::Completion& completion);
  void end_request(RequestTag tag, workload::Outcome outcome, double client_s);
  void look_up();
  void report_rest(RunOutcome& outcome);
  results::RunTotals totals(const RunOutcome& outcome);
  std::vector<results::Check> verify(const RunOutcome& outcome) const;

  const scenario::Scenario& scenario_;
  Deployment deployment_;
  std::unique_ptr<workload::RequestSource> source_;
  results::ScenarioIdentity identity_;
  RunSinks sinks_;
  bool first_token_from_prefill_;
  EventPump pump_;
  Fabric fabric_;
  KvTransfers transfers_;
  results::Recorder recorder_;
  LiveRequests live_;
  std::vector<std::unique_ptr<sdk::SchedulerPolicy>> policies_;
  std::vector<std::unique_ptr<replica::Replica>> replicas_;
  std::vector<std::unique_ptr<RunListener>> listeners_;
  std::vector<std::uint32_t> pool_of_replica_;
  std::vector<PoolState> pools_;
  std::vector<ClassRoute> routes_;
  std::uint64_t submitted_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint64_t completed_output_ = 0;
  std::uint64_t truncated_ = 0;
  double last_client_s_ = 0;
  results::NetworkTotals waits_;  ///< of KV for blocks on the decode side
  bool interrupted_ = false;
  bool bad_row_ = false;
};

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
          sinks_.requests) {
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

// --- arrivals

void Simulation::Impl::on_arrival(double now_s) {
  look_up();
  const RequestTag tag = live_.acquire();
  LiveRequest& live = live_[tag];
  try {
    source_->take(live.request);
  } catch (...) {  // a bad row: it never became a request
    live_.release(tag);
    throw;
  }
  const workload::Request& request = live.request;
  truncated_ += request.truncated ? 1 : 0;
  if (sinks_.received != nullptr) sinks_.received->add(request, source_->classes()[request.request_class]);
  results::FinishedRequest& record = live.record;
  record.row = submitted_++;
  record.id = request.id;
  record.session = request.session;
  record.arrival_s = request.arrival_s;
  record.prompt_tokens = request.prompt_tokens;
  record.request_class = request.request_class;
  pump_.set_next_arrival(source_->next_arrival_s());
  const ClassRoute& route = route_of(request.request_class);
  if (const std::uint16_t reason = refusal(live, route)) {
    record.status = results::RequestStatus::kRejected;
    record.reason = reason;
    end_request(tag, workload::Outcome::kRejected, now_s);
    return;
  }
  place(tag, *route.entry, deployment_.pools[*route.entry].role == Role::kPrefill ? Stage::kPrefill : Stage::kMixed,
        now_s);
}

const Simulation::Impl::ClassRoute& Simulation::Impl::route_of(std::uint16_t request_class) {
  while (routes_.size() <= request_class) {
    const std::string& name = source_->classes()[routes_.size()];
    routes_.push_back({scenario_.entry_pool(name), scenario_.decode_pool(name)});
  }
  return routes_[request_class];
}

/// Number of the reason why no replica could ever serve the request; 0: it can be served.
std::uint16_t Simulation::Impl::refusal(const LiveRequest& live, const ClassRoute& route) {
  if (!route.entry) return recorder_.reason("no pool serves its class");
  const std::uint64_t prompt = live.request.prompt_tokens;
  const std::uint64_t output = live.request.output_tokens;
  const auto check = [&](std::size_t pool, std::uint64_t produced) -> std::uint16_t {
    switch (impossible(deployment_.pools[pool].engine, prompt, produced)) {
      case Impossible::kNo: return 0;
      case Impossible::kModelLength: return recorder_.reason("prompt and output exceed max_model_len");
      case Impossible::kBlocks: return recorder_.reason("needs more KV blocks than an empty replica has");
      case Impossible::kWholePrompt:
        return recorder_.reason("prompt exceeds max_num_batched_tokens and chunked prefill is off");
    }
    return 0;
  };
  const bool split = deployment_.pools[*route.entry].role == Role::kPrefill;
  if (const std::uint16_t reason = check(*route.entry, split ? 1 : output)) return reason;
  return split ? check(*route.decode, output) : 0;
}

void Simulation::Impl::place(RequestTag tag, std::size_t pool_index, Stage stage, double now_s) {
  LiveRequest& live = live_[tag];
  PoolState& pool = pools_[pool_index];
  live.stage = stage;
  const replica::ReplicaRequest request = replica_request(tag, live, stage);
  const std::uint32_t number = pool.router->pick(request, pool.router_name, now_s);
  live.replica = pool.first_replica + number;
  if (stage == Stage::kDecode) {
    live.record.decode_pool = static_cast<std::uint16_t>(pool_index);
    live.record.decode_replica = number;
  } else {
    live.record.pool = static_cast<std::uint16_t>(pool_index);
    live.record.replica = number;
  }
  pool.router->placed(number, std::uint64_t{request.prompt} + request.output, now_s);
  replica::Replica& replica = *replicas_[live.replica];
  replica.submit(request, now_s);
  pump_.set_turn(live.replica, replica.next_turn_s());
}

replica::ReplicaRequest Simulation::Impl::replica_request(RequestTag tag, const LiveRequest& live, Stage stage) const {
  const workload::Request& from = live.request;
  replica::ReplicaRequest to;
  to.tag = tag;
  to.prompt = from.prompt_tokens;
  to.output = from.output_tokens;
  to.priority = from.priority;
  to.request_class = from.request_class;
  to.sequence = live.record.row;
  to.arrival_s = from.arrival_s;
  to.deadline_s = from.deadline_s;
  to.unique_key = replica::chain_key(~std::uint64_t{0}, 0, live.record.row, 0);
  to.content = from.content;
  if (stage == Stage::kPrefill) {
    to.output = 1;
    to.remote.hold_blocks = !(first_token_from_prefill_ && from.output_tokens == 1);
  } else if (stage == Stage::kDecode) {
    to.remote.load = replica::RemoteKv::Load::kPromptOnce;
    to.remote.tokens = 0;  // the whole prompt; its last token is computed again for the first output
    if (first_token_from_prefill_) {  // the first output is known, its KV entry is not
      to.remote.tokens = from.prompt_tokens;
      ++to.prompt;
      --to.output;
    }
  }
  return to;
}

// --- turns and what replicas tell

double Simulation::Impl::on_turn(std::uint32_t replica, double) {
  look_up();
  try {
    replicas_[replica]->run_turn();
  } catch (const replica::PolicyBreach& breach) {
    const std::uint32_t pool = pool_of_replica_[replica];
    throw replica::PolicyBreach(fmt::format("pools.{}, replica {}, policy '{}', iteration {}: {}",
                                            deployment_.pools[pool].name, replica - pools_[pool].first_replica,
                                            deployment_.pools[pool].policy.name(),
                                            replicas_[replica]->stats().iterations, breach.what()));
  }
  return replicas_[replica]->next_turn_s();
}

void Simulation::Impl::scheduled(RequestTag request, double now_s, std::uint32_t cached) {
  LiveRequest& live = live_[request];
  if (live.stage == Stage::kDecode) {
    if (transfers_.is_offered(request)) transfers_.not_needed(request, now_s);
    return;
  }
  live.record.scheduled_s = now_s;
  live.record.cached_tokens = cached;
}

void Simulation::Impl::first_token(RequestTag request, double engine_s, double client_s) {
  LiveRequest& live = live_[request];
  if (live.stage == Stage::kPrefill && !first_token_from_prefill_) return;
  if (live.stage == Stage::kDecode && first_token_from_prefill_) {
    recorder_.gaps(live.request.request_class, client_s - live.record.first_token_s, 1);
    return;
  }
  live.record.first_token_engine_s = engine_s;
  live.record.first_token_s = client_s;
}

void Simulation::Impl::finished(const replica::Completion& completion) {
  LiveRequest& live = live_[completion.tag];
  live.record.preemptions += completion.preemptions;
  leave_router(live, completion.engine_s);
  const bool goes_on = live.stage == Stage::kPrefill && !(first_token_from_prefill_ && live.request.output_tokens == 1);
  if (goes_on) {
    hand_over(completion.tag, completion.engine_s);
  } else {
    complete(completion.tag, completion);
  }
}

void Simulation::Impl::leave_router(const LiveRequest& live, double now_s) {
  const std::uint32_t pool = pool_of_replica_[live.replica];
  const replica::ReplicaRequest request = replica_request(0, live, live.stage);
  pools_[pool].router->finished(live.replica - pools_[pool].first_replica,
                                std::uint64_t{request.prompt} + request.output, now_s);
}

void Simulation::Impl::complete(RequestTag tag, const replica::Completion& completion) {
  LiveRequest& live = live_[tag];
  const bool one_before = live.stage == Stage::kDecode && first_token_from_prefill_;
  live.record.output_tokens = completion.output + (one_before ? 1 : 0);
  live.record.finish_s = completion.client_s;
  live.record.status = results::RequestStatus::kCompleted;
  completed_output_ += live.record.output_tokens;
  end_request(tag, workload::Outcome::kCompleted, completion.client_s);
}

/// The request is over: record it, and tell a source that waits for its client.
void Simulation::Impl::end_request(RequestTag tag, workload::Outcome outcome, double client_s) {
  LiveRequest& live = live_[tag];
  last_client_s_ = std::max(last_client_s_, client_s);
  recorder_.finished(live.record);
  const workload::Ticket ticket = live.request.ticket;
  const std::uint64_t row = live.record.row;
  live_.release(tag);
  if (ticket == workload::kNoTicket) return;
  if (outcome == workload::Outcome::kCompleted) {
    pump_.post({client_s, EventKind::kAnswer, row, static_cast<std::uint64_t>(ticket)});
  } else {
    source_->finished(ticket, client_s, outcome);
    pump_.set_next_arrival(source_->next_arrival_s());
  }
}

void Simulation::Impl::on_event(const Event& event) {
  source_->finished(workload::Ticket{event.value}, event.time_s, workload::Outcome::kCompleted);
  pump_.set_next_arrival(source_->next_arrival_s());
}

// --- prefill/decode split

void Simulation::Impl::hand_over(RequestTag tag, double now_s) {
  LiveRequest& live = live_[tag];
  transfers_.offer(tag, live.replica, now_s);
  place(tag, *route_of(live.request.request_class).decode, Stage::kDecode, now_s);
}

/// KV of the last `tokens` tokens of a prompt, all layers and heads: a sliding window keeps its own length at most.
/// Tensor parallel ranks split it, they do not multiply it.
std::uint64_t Simulation::Impl::transfer_bytes(RequestTag tag, std::uint32_t tokens) {
  const PoolDeployment& pool = deployment_.pools[live_[tag].record.pool];
  const std::uint64_t bytes_of_layer = pool.kv_bytes_per_token / pool.model.layers.size();
  std::uint64_t bytes = 0;
  for (const oracle::LayerShape& layer : pool.model.layers) {
    const bool windowed = layer.attention.kind != oracle::AttentionKind::kFull && layer.attention.window > 0;
    bytes += bytes_of_layer * (windowed ? std::min(tokens, layer.attention.window) : tokens);
  }
  return bytes;
}

void Simulation::Impl::load_started(RequestTag request, std::uint32_t, std::uint32_t tokens, double now_s) {
  transfers_.load_started(request, live_[request].replica, transfer_bytes(request, tokens), now_s);
}

void Simulation::Impl::load_finished(std::uint32_t decode_replica, RequestTag request, double now_s) {
  replicas_[decode_replica]->load_finished(request, now_s);
  pump_.set_turn(decode_replica, replicas_[decode_replica]->next_turn_s());
}

void Simulation::Impl::release_held(std::uint32_t prefill_replica, RequestTag request, double now_s) {
  replicas_[prefill_replica]->release_held(request, now_s);
  pump_.set_turn(prefill_replica, replicas_[prefill_replica]->next_turn_s());
}

void Simulation::Impl::transferred(RequestTag request, const KvTransferTimes& times, double) {
  live_[request].record.transfer_wait_s = times.wait_s;
  live_[request].record.transfer_s = times.transfer_s;
  ++waits_.handed_over;
  waits_.wait_seconds += times.wait_s;
  waits_.longest_wait_s = std::max(waits_.longest_wait_s, times.wait_s);
}

// --- the run

/// Now and then: does somebody want us to stop?
void Simulation::Impl::look_up() {
  if ((++ticks_ & 0x3FFF) != 0) return;
  const bool asked = sinks_.interrupted != nullptr && sinks_.interrupted->load(std::memory_order_relaxed);
  const bool go_on = !sinks_.progress || sinks_.progress(recorder_.ended(), pump_.now_s());
  if (!asked && go_on) return;
  interrupted_ = true;
  pump_.stop();
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

/// Requests that did not end are reported as unfinished, and what they wait for.
void Simulation::Impl::report_rest(RunOutcome& outcome) {
  constexpr std::size_t kShown = 20;
  if (outcome.end == RunOutcome::End::kStalled) {
    for (std::size_t r = 0; r < replicas_.size(); ++r)
      for (const auto& [tag, why] : replicas_[r]->engine().stuck())
        if (outcome.stuck.size() < kShown)
          outcome.stuck.push_back(fmt::format("request {} on {}.{}: {}", live_[tag].request.id,
                                              deployment_.pools[pool_of_replica_[r]].name,
                                              r - pools_[pool_of_replica_[r]].first_replica, why));
    outcome.stuck_total = live_.count();
  }
  std::vector<RequestTag> tags;
  live_.for_each_by_row([&](RequestTag tag, LiveRequest& live) {
    live.record.status = results::RequestStatus::kUnfinished;
    live.record.reason = recorder_.reason(outcome.end == RunOutcome::End::kInterrupted ? "the run was interrupted"
                                          : outcome.end == RunOutcome::End::kBroken    ? "the run broke off"
                                                                                       : "the run stalled");
    recorder_.finished(live.record);
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
  if (truncated_ > 0)
    totals.warnings.push_back(fmt::format("{} prompts were cut to fit max_model_len", truncated_));
  if (outcome.end == RunOutcome::End::kInterrupted) totals.partial = "interrupted";
  if (outcome.end == RunOutcome::End::kBroken)
    totals.partial = "broken off: " + (bad_row_ ? "a trace has a bad row" : outcome.broken);
  if (outcome.end == RunOutcome::End::kStalled)
    totals.partial = fmt::format("stalled: {} requests cannot go on", outcome.stuck_total);
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
    const bool split = std::any_of(deployment_.pools.begin(), deployment_.pools.end(),
                                   [](const PoolDeployment& pool) { return pool.role != Role::kMixed; });
    if (!split && produced != completed_output_)
      throw std::logic_error(
          fmt::format("replicas produced {} tokens but requests received {}", produced, completed_output_));
    if (!split) checks.push_back({"output_tokens_balance", fmt::format("{} tokens", produced)});
    if (transfers_.size() != 0) throw std::logic_error("KV transfers are left at the end of the run");
    checks.push_back({"transfers_end", fmt::format("{} flows", fabric_.stats().flows)});
  }
  checks.push_back({"requests_add_up", fmt::format("{} submitted", submitted_)});  // the recorder throws otherwise
  return checks;
}

// ---

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
