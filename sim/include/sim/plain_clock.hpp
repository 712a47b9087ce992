#pragma once

#include "sim/event_pump.hpp"
#include "sim/network_clock.hpp"

namespace dooly::sim {

/// The clock of a network in which nothing ever happens: drives a pump without SimGrid, for tests and benchmarks.
class PlainClock final : public NetworkClock {
 public:
  explicit PlainClock(EventPump& pump) : pump_(pump) { pump.attach(*this); }
  double now_s() const override { return now_s_; }
  double next_activity_s() override { return kNever; }
  bool has_unreported_ends() const override { return false; }
  void call_at(double time_s) override {
    if (time_s < asked_s_) asked_s_ = time_s < now_s_ ? now_s_ : time_s;
  }
  void run() override {
    while (asked_s_ < kNever) {
      now_s_ = asked_s_;
      asked_s_ = kNever;
      pump_.advance();
    }
  }

 private:
  EventPump& pump_;
  double now_s_ = 0;
  double asked_s_ = kNever;
};

}  // namespace dooly::sim
