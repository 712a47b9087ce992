#include "sim/event_pump.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace dooly::sim {

void EventPump::fail_past(double time_s) const {
  throw std::logic_error(fmt::format("time runs back: an event at {} s was announced at {} s", time_s, now_s_));
}

double EventPump::next_time_s() const {
  return std::min({next_arrival_s_, events_.first_time_s(), turns_.first_time_s()});
}

void EventPump::run() {
  if (clock_ == nullptr) throw std::logic_error("the event pump has no network clock");
  running_ = true;
  if (next_time_s() < kNever && !stopped_) clock_->call_at(next_time_s());
  clock_->run();
  running_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (!stopped_ && next_time_s() < kNever)
    throw std::logic_error(
        fmt::format("the network's engine stopped at {} s before the event at {} s", clock_->now_s(), next_time_s()));
}

void EventPump::advance() {
  ++entries_;
  // Ends at this very time come first; their reports wake the pump again.
  if (stopped_ || clock_->has_unreported_ends()) return;
  advancing_ = true;
  try {  // an exception must not unwind the network's engine
    handle_due(clock_->now_s());
    if (look_ahead_ && !stopped_) run_ahead(clock_->next_activity_s());
  } catch (...) {
    failure_ = std::current_exception();
    stopped_ = true;
  }
  advancing_ = false;
  const double next_s = next_time_s();
  if (stopped_) return;
  if (next_s < kNever) {
    clock_->call_at(next_s);
  } else if (clock_->now_s() < now_s_ && clock_->next_activity_s() == kNever) {
    // nothing is left: let the network's clock end at the same time
    clock_->call_at(now_s_);
  }
}

void EventPump::handle_due(double clock_s) {
  while (!stopped_) {
    const double time_s = next_time_s();
    if (time_s > clock_s) return;
    handle_next(time_s);
  }
}

void EventPump::run_ahead(double limit_s) {
  while (!stopped_) {
    const double time_s = next_time_s();
    if (!(time_s < limit_s)) return;
    if (events_.first_time_s() == time_s && events_.first_kind() == EventKind::kFlowStart) return;
    handle_next(time_s);
  }
}

void EventPump::handle_next(double time_s) {
  now_s_ = time_s;
  ++handled_;
  if (events_.first_time_s() == time_s) {
    handle_event();
  } else if (next_arrival_s_ == time_s) {
    next_arrival_s_ = kNever;
    client_.on_arrival(time_s);
  } else {
    const std::uint32_t replica = turns_.first_replica();
    const double next_s = client_.on_turn(replica, time_s);
    check_not_past(next_s);
    turns_.set(replica, next_s);
  }
}

void EventPump::handle_event() {
  const Event event = events_.pop();
  EventSink* sink = sinks_[static_cast<std::size_t>(event.kind)];
  if (sink == nullptr)
    throw std::logic_error(fmt::format("nobody handles events of kind {}", static_cast<int>(event.kind)));
  sink->on_event(event);
}

}  // namespace dooly::sim
