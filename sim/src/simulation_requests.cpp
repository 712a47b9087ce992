// A request's way: arrival, front door, router, replica, completion.
#include "simulation_impl.hpp"

#include "front_door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dooly::sim {

using Role = scenario::Pool::Role;
using Stage = LiveRequest::Stage;

void Simulation::Impl::on_arrival(double now_s) {
  heed_watchers();
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
  pool.router->placed(number, request, now_s);
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
  heed_watchers();
  heed_livelock();
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

void Simulation::Impl::queued(RequestTag request, double now_s) {
  LiveRequest& live = live_[request];
  if (live.stage != Stage::kDecode) live.record.queued_s = now_s;
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
  pools_[pool].router->finished(live.replica - pools_[pool].first_replica, request, now_s);
}

void Simulation::Impl::complete(RequestTag tag, const replica::Completion& completion) {
  LiveRequest& live = live_[tag];
  const bool one_before = live.stage == Stage::kDecode && first_token_from_prefill_;
  live.record.output_tokens = completion.output + (one_before ? 1 : 0);
  live.record.finish_engine_s = completion.engine_s;
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
  if (sinks_.ended) sinks_.ended(live.record);
  const workload::Ticket ticket = live.request.ticket;
  const std::uint64_t row = live.record.row;
  live_.release(tag);
  if (ticket == workload::kNoTicket) return;
  if (outcome == workload::Outcome::kCompleted) {
    // An answer that takes no time comes after all else of its instant: what it causes must not depend on which turns
    // of that instant have gone by, or an export of this run would meet them in another order.
    const double told_s = client_s > pump_.now_s() ? client_s : std::nextafter(client_s, kNever);
    pump_.post({told_s, EventKind::kAnswer, row, static_cast<std::uint64_t>(ticket)});
  } else {
    source_->finished(ticket, client_s, outcome);
    pump_.set_next_arrival(source_->next_arrival_s());
  }
}

void Simulation::Impl::on_event(const Event& event) {
  source_->finished(workload::Ticket{event.value}, event.time_s, workload::Outcome::kCompleted);
  pump_.set_next_arrival(source_->next_arrival_s());
}

}  // namespace dooly::sim
