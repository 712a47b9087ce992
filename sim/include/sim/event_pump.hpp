#pragma once

#include "sim/event.hpp"
#include "sim/event_queue.hpp"
#include "sim/network_clock.hpp"
#include "sim/turn_queue.hpp"

#include <array>
#include <cstdint>
#include <exception>

namespace dooly::sim {

/// What the simulation does when its two recurring sorts of events are due.
class PumpClient {
 public:
  virtual ~PumpClient() = default;
  /// The arrival set by EventPump::set_next_arrival is due; the next one is kNever until it is set again.
  virtual void on_arrival(double now_s) = 0;
  /// The replica's turn is due. Returns the time of its next one (kNever: until EventPump::set_turn).
  virtual double on_turn(std::uint32_t replica, double now_s) = 0;
};

/// The one order of everything that happens. Own events are kept in front of the network's clock: they run ahead
/// of it until the next one would pass the network's next event or needs that clock (kFlowStart), so a run without
/// flows enters the network's engine a few times in all.
///
/// Order at equal times: one-shot events by (kind, id), the arrival, turns by replica number: an arrival that an answer
/// brings about at once stands where it stands when it is replayed from a trace. Two times are equal if their bits are.
/// The network reports ends up to 1 ns early when it is stopped so shortly before them, so it is stopped for nothing
/// but flows: its times depend on no other event.
///
/// Errors: anything thrown by a handler leaves run() unchanged. std::logic_error if an event lies in the past.
class EventPump {
 public:
  /// All references must outlive the pump.
  EventPump(std::uint32_t replicas, PumpClient& client) : turns_(replicas), client_(client) {}
  EventPump(const EventPump&) = delete;
  EventPump& operator=(const EventPump&) = delete;

  /// Who handles one-shot events of `kind`.
  void handle(EventKind kind, EventSink& sink) { sinks_[static_cast<std::size_t>(kind)] = &sink; }
  /// Whose clock to keep in step with; needed before run().
  void attach(NetworkClock& clock) { clock_ = &clock; }

  // --- what happens next; from anywhere
  void set_next_arrival(double time_s) {
    check_not_past(time_s);
    next_arrival_s_ = time_s;
    wake(time_s);
  }
  void set_turn(std::uint32_t replica, double time_s) {
    check_not_past(time_s);
    turns_.set(replica, time_s);
    wake(time_s);
  }
  void post(const Event& event) {
    check_not_past(event.time_s);
    events_.push(event);
    wake(event.time_s);
  }

  /// Time of the event that is being handled, or of the last one.
  double now_s() const { return now_s_; }
  std::uint64_t handled() const { return handled_; }
  std::uint64_t entries() const { return entries_; }  ///< times that the network's engine called the pump

  /// Handles events until there are none and the network is quiet, or stop().
  void run();
  /// Nothing is handled any more after the current event.
  void stop() { stopped_ = true; }
  bool is_stopped() const { return stopped_; }
  /// Off: the network's clock follows every event. Slow, gives the same results but for ends that are up to 1 ns early;
  /// for tests.
  void set_look_ahead(bool on) { look_ahead_ = on; }

  /// For the network's clock: now it stands at the time that call_at() asked for.
  void advance();

 private:
  double next_time_s() const;
  void check_not_past(double time_s) const {
    if (!(time_s >= now_s_)) fail_past(time_s);
  }
  [[noreturn]] void fail_past(double time_s) const;
  void wake(double time_s) {
    if (running_ && !advancing_ && !stopped_ && time_s < kNever) clock_->call_at(time_s);
  }
  void handle_due(double clock_s);
  void run_ahead(double limit_s);
  void handle_next(double time_s);
  void handle_event();

  TurnQueue turns_;
  EventQueue events_;
  double next_arrival_s_ = kNever;
  double now_s_ = 0;
  PumpClient& client_;
  NetworkClock* clock_ = nullptr;
  std::array<EventSink*, kEventKinds> sinks_{};
  std::uint64_t handled_ = 0;
  std::uint64_t entries_ = 0;
  bool running_ = false;
  bool advancing_ = false;
  bool stopped_ = false;
  bool look_ahead_ = true;
  std::exception_ptr failure_;
};

}  // namespace dooly::sim
