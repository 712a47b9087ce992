#include "replica_core/replica.hpp"

#include "replica_core/clock_regime.hpp"

#include <algorithm>
#include <utility>

namespace dooly::replica {
namespace {

constexpr std::uint32_t kAheadAtLeast = 8, kAheadAtMost = 256;

/// When a step that the loop starts to schedule at `host_s` has been launched, and when its result is there. Scheduling
/// and launching block the loop; the device starts with the first kernel, or after the step before, and cannot end
/// before the last kernel, the sampler's, has been launched (docs/engine-timing.md).
struct LaunchTimes {
  double launched_s;
  double ready_s;
};
LaunchTimes launch_times(double host_s, double device_end_s, const oracle::StepCost& cost, bool empty) {
  const double begin = host_s + cost.host.until_launch();
  if (empty) return {begin, std::max(device_end_s, begin)};
  const double kernels_begin = std::max(device_end_s, begin + cost.host.launch_lead);
  const double launched = begin + cost.host.launch + cost.host.sample;
  return {launched, cost.host.later(kernels_begin + cost.device.total(), launched)};
}

}  // namespace

Replica::Replica(const EngineConfig& config, sdk::SchedulerPolicy& policy, const oracle::LatencyOracle& oracle,
                 ReplicaObserver& observer, std::unique_ptr<KvCache> cache)
    : engine_(config, policy, cache ? std::move(cache) : make_kv_cache(config)),
      oracle_(oracle),
      clock_model_(oracle.clock_model()),
      observer_(observer) {}

Replica::~Replica() = default;

// --- inputs

void Replica::submit(const ReplicaRequest& request, double now_s) {
  const oracle::RequestCost cost = oracle_.request_cost(request.prompt);
  input_ready_s_ = std::max(input_ready_s_, now_s + cost.input) + cost.hashing;
  inbox_.push_back({request, input_ready_s_});
  interrupt(input_ready_s_);
}

/// Something will be there for the loop to see at `at_s`: a parked loop wakes then, and steps that were computed ahead
/// but start at that time or later are dropped.
void Replica::interrupt(double at_s) {
  if (next_turn_s_ == kNever) {
    next_turn_s_ = std::max(host_s_, at_s);
    return;
  }
  const std::size_t planned = ahead_.size();
  while (ahead_.size() > ahead_first_ && ahead_.back().start_s >= at_s) {
    next_turn_s_ = ahead_.back().start_s;
    ahead_.pop_back();
  }
  if (ahead_.size() < planned)  // so many steps were for nothing: look less far ahead
    ahead_limit_ = std::clamp(static_cast<std::uint32_t>(ahead_.size()) + kAheadAtLeast, kAheadAtLeast, kAheadAtMost);
}

void Replica::abort(RequestTag request, double now_s) {
  catch_up(now_s);
  interrupt(now_s);
  const auto queued =
      std::find_if(inbox_.begin(), inbox_.end(), [&](const Incoming& in) { return in.request.tag == request; });
  if (queued != inbox_.end()) {
    inbox_.erase(queued);
  } else {
    engine_.abort(request);
  }
}

void Replica::load_finished(RequestTag request, double now_s) {
  catch_up(now_s);
  interrupt(now_s);
  engine_.load_finished(request);
}

void Replica::release_held(RequestTag request, double now_s) {
  catch_up(now_s);
  interrupt(now_s);
  account_blocks(now_s);
  engine_.release_held(request);
}

std::uint32_t Replica::waiting() const { return engine_.waiting_total() + static_cast<std::uint32_t>(inbox_.size()); }

bool Replica::is_idle() const { return inbox_.empty() && engine_.is_empty(); }

std::uint32_t Replica::cached_prefix(const ReplicaRequest& request) const { return engine_.cached_prefix(request); }

// --- one turn of the loop

void Replica::run_turn() {
  if (ahead_.size() >= ahead_limit_) ahead_limit_ = std::min(2 * ahead_limit_, kAheadAtMost);
  commit_ahead(ahead_.size() - ahead_first_);
  host_s_ = std::max(host_s_, next_turn_s_);
  if (wait_for_result_) read_result();
  if (engine_.batches_in_flight() == 0) first_start_s_ = host_s_;
  read_inputs();
  const bool stepped = schedule_step();
  if (stepped && !wait_for_result_) {
    next_turn_s_ = host_s_;  // the queue of batches has room
    return;
  }
  if (!stepped)
    while (engine_.batches_in_flight() > 0 && engine_.oldest_batch().tokens == 0) read_result();
  if (engine_.batches_in_flight() == 0) {  // nothing to do, or nothing that can be done before something comes in
    wait_for_result_ = false;
    if (engine_.has_requests() && engine_.is_unsettled()) {
      next_turn_s_ = host_s_;
      return;
    }
    next_turn_s_ = inbox_.empty() ? kNever : std::max(host_s_, inbox_.front().ready_s);
    return;
  }
  wait_for_result_ = true;
  const Batch& oldest = engine_.oldest_batch();
  next_turn_s_ = std::max(host_s_, oldest.ready_s) + oldest.update_s;
  if (fast_forward_ && listener_ == nullptr) plan_ahead();
}

void Replica::read_inputs() {
  while (!inbox_.empty() && inbox_.front().ready_s <= host_s_) {
    engine_.add(inbox_.front().request);
    observer_.queued(inbox_.front().request.tag, host_s_);
    inbox_.pop_front();
  }
}

/// vLLM's step_with_batch_queue: schedule and launch; then wait for the oldest result unless the queue has room and
/// there is more to schedule.
bool Replica::schedule_step() {
  wait_for_result_ = false;
  if (!engine_.has_requests()) {
    wait_for_result_ = engine_.batches_in_flight() > 0;
    return false;
  }
  const double begin_s = host_s_;
  Batch& batch = engine_.schedule(begin_s);
  launch(batch);
  for (const Engine::Started& started : engine_.started()) {
    stats_.prompt_tokens += started.prompt;
    stats_.cached_tokens += started.cached;
    observer_.scheduled(started.tag, begin_s, started.cached);
  }
  for (const Engine::LoadStart& load : engine_.loads_started())
    observer_.load_started(load.tag, load.local, load.remote, begin_s);
  if (listener_ != nullptr) listener_->decided(batch, begin_s);
  const bool ran = batch.tokens > 0;
  const bool room = engine_.batches_in_flight() < engine_.config().depth();
  wait_for_result_ = !(room && (ran || engine_.has_requests()));
  return ran;
}

void Replica::launch(Batch& batch) {
  const bool empty = batch.tokens == 0;
  batch.shape.replica = number_;
  oracle::StepCost cost = oracle_.cost(batch.shape, device_);
  if (is_after_prefill_) cost.host.launch_after_prefill();
  if (!empty) is_after_prefill_ = !batch.shape.prefills.empty();
  const LaunchTimes times = launch_times(host_s_, device_end_s_, cost, empty);
  batch.start_s = host_s_;
  batch.ready_s = times.ready_s;
  batch.update_s = cost.host.update;
  batch.delivery_s = cost.host.delivery;
  batch.device_s = empty ? 0 : cost.device.total();
  advance_clock_regime(std::max(device_end_s_, batch.start_s), times.ready_s, batch.device_s, cost.compute_share);
  host_s_ = times.launched_s;
  device_end_s_ = times.ready_s;
  account_blocks(batch.start_s);
  stats_.preemptions = engine_.preemptions();
  if (!empty) account_step(batch.shape, cost);
  if (listener_ != nullptr) batch.cost = cost;
}

/// The device computes `busy_s` of the time from `since_s` to `end_s`. Where one step follows on the other without a
/// pause the two are equal to the bit.
inline void Replica::advance_clock_regime(double since_s, double end_s, double busy_s, double compute_share) {
  replica::advance_clock_regime(device_, clock_model_, end_s - (since_s + busy_s), busy_s, compute_share);
}

void Replica::read_result() {
  Batch& batch = engine_.oldest_batch();
  wait_for_result_ = false;
  host_s_ = std::max(host_s_, batch.ready_s);
  finish_result(batch);
}

void Replica::finish_result(Batch& batch) {
  const double engine_s = host_s_;
  const bool empty = batch.tokens == 0;
  const double client_s = empty ? client_s_ : std::max(client_s_, engine_s + batch.delivery_s);
  if (batch.decodes > 0) report_gaps(batch, client_s - client_s_);
  stats_.output_tokens += batch.decodes;
  if (!empty) account_time(batch.shape, engine_s);
  if (listener_ != nullptr && !empty) listener_->iteration(batch, engine_s);
  account_blocks(engine_s);
  const auto events = engine_.read_result(client_s);
  client_s_ = client_s;
  for (const ResultEvent& event : events) {
    if (!event.steady) ++stats_.output_tokens;
    if (event.first) {
      observer_.first_token(event.tag, engine_s, client_s);
    } else if (!event.steady) {
      observer_.token_gaps(event.request_class, client_s - event.previous_token_s, 1);
    }
    if (event.finished)
      observer_.finished({.tag = event.tag,
                          .engine_s = engine_s,
                          .client_s = client_s,
                          .output = event.output,
                          .preemptions = event.preemptions});
  }
}

void Replica::report_gaps(const Batch& batch, double gap_s) {
  if (batch.decodes_by_class.empty()) {
    observer_.token_gaps(0, gap_s, batch.decodes);
    return;
  }
  for (std::size_t c = 0; c < batch.decodes_by_class.size(); ++c)
    if (batch.decodes_by_class[c] > 0)
      observer_.token_gaps(static_cast<std::uint16_t>(c), gap_s, batch.decodes_by_class[c]);
}

// --- sums

void Replica::account_step(const oracle::BatchShape& shape, const oracle::StepCost& cost) {
  ++stats_.iterations;
  stats_.scheduled_tokens += shape.tokens();
  stats_.scheduled_requests += shape.requests();
  stats_.measured_s += cost.provenance.measured;
  stats_.interpolated_s += cost.provenance.interpolated;
  stats_.extrapolated_s += cost.provenance.extrapolated;
  stats_.roofline_s += cost.provenance.roofline;
  stats_.stated_error_s += cost.stated_error * cost.device.total();
}

void Replica::account_time(const oracle::BatchShape& shape, double end_s) {
  const double took = end_s - std::max(last_result_s_, first_start_s_);
  last_result_s_ = end_s;
  if (shape.prefill_tokens == 0) {
    ++stats_.decode_iterations;
    stats_.decode_s += took;
  } else if (shape.decodes == 0) {
    ++stats_.prefill_iterations;
    stats_.prefill_s += took;
  } else {
    ++stats_.mixed_iterations;
    stats_.mixed_s += took;
  }
}

void Replica::account_blocks(double now_s) {
  note_blocks(now_s, engine_.config().num_blocks - 1 - engine_.cache().free_blocks());
}

/// `used` blocks from now_s on.
void Replica::note_blocks(double now_s, std::uint32_t used) {
  if (now_s > blocks_since_s_) {
    stats_.block_seconds += blocks_used_ * (now_s - blocks_since_s_);
    blocks_since_s_ = now_s;
  }
  blocks_used_ = used;
  stats_.peak_blocks = std::max(stats_.peak_blocks, used);
}

// --- looking ahead

/// Of `steps` light steps those for which blocks are free.
std::uint32_t Replica::steps_with_blocks(std::uint32_t steps) const {
  const std::uint32_t free = engine_.cache().free_blocks();
  if (std::uint64_t{free} >= std::uint64_t{steps} * engine_.running_total()) return steps;
  std::uint32_t blocks = 0;
  for (std::uint32_t i = 0; i < steps; ++i)
    if ((blocks += engine_.light_blocks(i)) > free) return i;
  return steps;
}

/// Computes the steps that are sure to change no batch. Each reads the oldest result and schedules the steady decodes
/// again; nothing is committed.
void Replica::plan_ahead() {
  ahead_.clear();
  ahead_costs_.clear();
  ahead_sustained_.clear();
  ahead_first_ = 0;
  std::uint32_t steps = engine_.light_steps(ahead_limit_);
  if (steps > 0) steps = steps_with_blocks(steps);
  if (steps == 0) return;
  const double stop_s = inbox_.empty() ? kNever : inbox_.front().ready_s;
  ahead_shape_ = engine_.light_shape(0);
  ahead_shape_.replica = number_;
  ahead_device_s_.resize(steps);
  ahead_is_run_ = oracle_.decode_run(ahead_shape_, ahead_device_s_, ahead_run_);
  if (ahead_is_run_) {
    steps = std::min(steps, ahead_run_.steps);
    clock_model_.time_constant > 0 ? plan_run_warming(steps, stop_s) : plan_run(steps, stop_s);
  } else {
    plan_step_by_step(steps, stop_s);
  }
}

/// launch_times() of all steps with what they share taken out of the loop. The device's end is written so that little
/// depends on the step before: max(d, b) + k = max(d + k, b + k), exactly, because adding k rounds monotonically.
void Replica::plan_run(std::uint32_t steps, double stop_s) {
  const oracle::HostTime host = ahead_run_.host;
  const double until_launch_s = host.until_launch();
  const bool two_in_flight = engine_.batches_in_flight() > 1;
  PendingResult oldest = pending(engine_.oldest_batch());
  PendingResult newest = pending(engine_.newest_batch());
  double turn_s = next_turn_s_, device_end_s = device_end_s_, client_s = client_s_;
  ahead_.resize(steps);
  std::uint32_t made = 0;
  for (; made < steps && turn_s < stop_s; ++made) {
    const double kernels = ahead_device_s_[made];
    const double begin = turn_s + until_launch_s;
    const double host_s = begin + host.launch + host.sample;
    device_end_s = host.later(std::max(device_end_s + kernels, (begin + host.launch_lead) + kernels), host_s);
    client_s = std::max(client_s, turn_s + oldest.delivery_s);
    ahead_[made] = {turn_s, host_s, device_end_s, client_s};
    const PendingResult result{device_end_s, host.update, host.delivery, kernels};
    oldest = two_in_flight ? newest : result;
    newest = result;
    turn_s = std::max(host_s, oldest.ready_s) + oldest.update_s;
  }
  ahead_.resize(made);
  next_turn_s_ = turn_s;
}

/// plan_run() of a device whose clock moves: the same sums as plan_step_by_step().
void Replica::plan_run_warming(std::uint32_t steps, double stop_s) {
  const oracle::HostTime host = ahead_run_.host;
  const double until_launch_s = host.until_launch();
  const bool two_in_flight = engine_.batches_in_flight() > 1;
  const oracle::DeviceState device_before = device_;
  PendingResult oldest = pending(engine_.oldest_batch());
  PendingResult newest = pending(engine_.newest_batch());
  double turn_s = next_turn_s_, device_end_s = device_end_s_, client_s = client_s_;
  ahead_.resize(steps);
  ahead_sustained_.resize(steps);
  std::uint32_t made = 0;
  for (; made < steps && turn_s < stop_s; ++made) {
    const double kernels = ahead_device_s_[made] += device_.sustained * ahead_run_.per_sustained_s;
    const double begin = turn_s + until_launch_s;
    const double host_s = begin + host.launch + host.sample;
    const double before_s = std::max(device_end_s, turn_s);
    device_end_s = host.later(std::max(device_end_s + kernels, (begin + host.launch_lead) + kernels), host_s);
    client_s = std::max(client_s, turn_s + oldest.delivery_s);
    advance_clock_regime(before_s, device_end_s, kernels, ahead_run_.compute_share);
    ahead_[made] = {turn_s, host_s, device_end_s, client_s};
    ahead_sustained_[made] = device_.sustained;
    const PendingResult result{device_end_s, host.update, host.delivery, kernels};
    oldest = two_in_flight ? newest : result;
    newest = result;
    turn_s = std::max(host_s, oldest.ready_s) + oldest.update_s;
  }
  device_ = device_before;
  ahead_.resize(made);
  next_turn_s_ = turn_s;
}

void Replica::plan_step_by_step(std::uint32_t steps, double stop_s) {
  const bool two_in_flight = engine_.batches_in_flight() > 1;
  const oracle::DeviceState device_before = device_;
  PendingResult oldest = pending(engine_.oldest_batch());
  PendingResult newest = pending(engine_.newest_batch());
  double turn_s = next_turn_s_, device_end_s = device_end_s_, client_s = client_s_;
  for (std::uint32_t i = 0; i < steps && turn_s < stop_s; ++i) {
    const oracle::StepCost cost = oracle_.cost(engine_.light_shape(i), device_);
    const LaunchTimes times = launch_times(turn_s, device_end_s, cost, false);
    const PendingResult result{times.ready_s, cost.host.update, cost.host.delivery, cost.device.total()};
    client_s = std::max(client_s, turn_s + oldest.delivery_s);
    advance_clock_regime(std::max(device_end_s, turn_s), times.ready_s, result.device_s, cost.compute_share);
    ahead_.push_back({turn_s, times.launched_s, times.ready_s, client_s});
    ahead_costs_.push_back({cost});
    ahead_sustained_.push_back(device_.sustained);
    ahead_device_s_[i] = result.device_s;
    device_end_s = times.ready_s;
    oldest = two_in_flight ? newest : result;
    newest = result;
    turn_s = std::max(times.launched_s, oldest.ready_s) + oldest.update_s;
  }
  device_ = device_before;
  next_turn_s_ = turn_s;
}

Replica::PendingResult Replica::pending(const Batch& batch) {
  return {batch.ready_s, batch.update_s, batch.delivery_s, batch.device_s};
}

void Replica::catch_up(double now_s) {
  std::size_t started = 0;
  while (ahead_first_ + started < ahead_.size() && ahead_[ahead_first_ + started].start_s < now_s) ++started;
  commit_ahead(started);
}

oracle::HostTime Replica::host_times_ahead(std::size_t step) const {
  return ahead_is_run_ ? ahead_run_.host : ahead_costs_[step].cost.host;
}

/// Makes the next `steps` computed steps real: the same sums in the same order as one turn each.
void Replica::commit_ahead(std::size_t steps) {
  if (steps == 0) return;
  Batch& oldest = engine_.oldest_batch();
  Batch& newest = engine_.newest_batch();
  commit_results(steps);
  commit_costs(steps);
  engine_.commit_light(static_cast<std::uint32_t>(steps), client_s_);
  const std::size_t last = ahead_first_ + steps - 1;
  const auto become = [&](Batch& batch, std::size_t step) {
    const oracle::HostTime host = host_times_ahead(step);
    batch.shape = engine_.light_shape(0);  // of the next step; the count is what matters for a light one's result
    batch.tokens = batch.shape.tokens();
    batch.start_s = ahead_[step].start_s;
    batch.ready_s = ahead_[step].ready_s;
    batch.update_s = host.update;
    batch.delivery_s = host.delivery;
    batch.device_s = ahead_device_s_[step];
  };
  if (&oldest != &newest) {
    if (steps > 1) {
      become(oldest, last - 1);
    } else {
      oldest.shape = newest.shape;
      oldest.tokens = newest.tokens;
      oldest.start_s = newest.start_s;
      oldest.ready_s = newest.ready_s;
      oldest.update_s = newest.update_s;
      oldest.delivery_s = newest.delivery_s;
      oldest.device_s = newest.device_s;
    }
  }
  become(newest, last);
  host_s_ = ahead_[last].host_s;
  device_end_s_ = ahead_[last].ready_s;
  if (clock_model_.time_constant > 0) device_.sustained = ahead_sustained_[last];
  ahead_first_ += steps;
}

/// The results that the steps read: each the batch of pure decodes before.
void Replica::commit_results(std::size_t steps) {
  const Batch& batch = engine_.oldest_batch();
  std::uint32_t used = engine_.config().num_blocks - 1 - engine_.cache().free_blocks();
  gaps_s_.resize(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    const AheadStep& step = ahead_[ahead_first_ + i];
    gaps_s_[i] = step.client_s - client_s_;
    client_s_ = step.client_s;
    stats_.decode_s += step.start_s - std::max(last_result_s_, first_start_s_);
    last_result_s_ = step.start_s;
    note_blocks(step.start_s, used);
    used += engine_.light_blocks(static_cast<std::uint32_t>(i));
    note_blocks(step.start_s, used);
  }
  stats_.decode_iterations += steps;
  stats_.output_tokens += steps * batch.decodes;
  if (batch.decodes_by_class.empty()) {
    observer_.token_gap_run(0, gaps_s_, batch.decodes);
    return;
  }
  for (std::size_t c = 0; c < batch.decodes_by_class.size(); ++c)
    if (batch.decodes_by_class[c] > 0)
      observer_.token_gap_run(static_cast<std::uint16_t>(c), gaps_s_, batch.decodes_by_class[c]);
}

/// The steps' own costs, as account_step() adds them.
void Replica::commit_costs(std::size_t steps) {
  if (!ahead_is_run_) {
    for (std::size_t i = ahead_first_; i < ahead_first_ + steps; ++i) account_step(ahead_shape_, ahead_costs_[i].cost);
    return;
  }
  stats_.iterations += steps;
  stats_.scheduled_tokens += steps * ahead_shape_.tokens();
  stats_.scheduled_requests += steps * ahead_shape_.requests();
  const oracle::Provenance& share = ahead_run_.share;
  const auto add = [&](double& sum, double part) {
    if (part == 0) return;
    for (std::size_t i = ahead_first_; i < ahead_first_ + steps; ++i) sum += part * ahead_device_s_[i];
  };
  add(stats_.measured_s, share.measured);
  add(stats_.interpolated_s, share.interpolated);
  add(stats_.extrapolated_s, share.extrapolated);
  add(stats_.roofline_s, share.roofline);
  add(stats_.stated_error_s, ahead_run_.stated_error);
}

}  // namespace dooly::replica
