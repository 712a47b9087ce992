#pragma once

namespace dooly::sim {

/// The clock of the simulated network as the event pump sees it: SimGrid's in a simulation, a plain one in tests.
/// It moves only to times it was asked for and to those at which its own activities end.
class NetworkClock {
 public:
  virtual ~NetworkClock() = default;
  virtual double now_s() const = 0;
  /// When the network next does something by itself; kNever if nothing is under way.
  virtual double next_activity_s() = 0;
  /// Activities have ended at now_s() that were not reported yet. Reports follow at this same time.
  virtual bool has_unreported_ends() const = 0;
  /// Asks for one call of EventPump::advance() at `time_s` (now if that has passed); replaces a request for a later
/// time.
  virtual void call_at(double time_s) = 0;
  /// Runs until no call is asked for and no activity is under way.
  virtual void run() = 0;
};

}  // namespace dooly::sim
