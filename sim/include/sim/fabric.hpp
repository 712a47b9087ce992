#pragma once

#include "sim/event.hpp"
#include "sim/event_pump.hpp"
#include "sim/network.hpp"
#include "sim/network_clock.hpp"
#include "sim/port_plan.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dooly::sim {

/// The simulated machine room in SimGrid, the only part that knows it: clock, links, flows that share them max-min
/// fairly.
///
/// The platform is one star of the plan's ports. Links have latency 0 and the network model is CM02 without cross
/// traffic and TCP effects, so the shares are exactly max-min fair; a path's latency passes before its flow enters the
/// links. Two flows A to B of s bytes over one link of w bytes/s: latency + 2 s / w.
///
/// One per process (SimGrid's engine is a singleton): a second one throws std::logic_error. Runs with SimGrid 3.32
/// and 4.
class Fabric final : public Network, private NetworkClock, private EventSink {
 public:
  /// Builds the platform and makes its clock the pump's. The pump must outlive the fabric and not run after it.
  Fabric(PortPlan plan, EventPump& pump);
  ~Fabric() override;

  void start_flow(std::uint32_t from_replica, std::uint32_t to_replica, std::uint64_t bytes, double start_s,
                  FlowListener& listener, std::uint64_t tag) override;

  const PortPlan& plan() const { return plan_; }
  const NetworkStats& stats() const { return stats_; }
  /// Names of the links that SimGrid would use from one replica to another, in order; for tests of the platform.
  std::vector<std::string> links_between(std::uint32_t from_replica, std::uint32_t to_replica) const;

 private:
  struct SimGrid;
  struct Flow;

  double now_s() const override;
  double next_activity_s() override;
  bool has_unreported_ends() const override;
  void call_at(double time_s) override;
  void run() override;

  void on_event(const Event& event) override;
  void enter_links(std::uint64_t slot);
  void left_links(std::uint64_t slot);
  void end_flow(std::uint64_t slot, double now_s);
  std::uint64_t free_slot();

  PortPlan plan_;
  EventPump& pump_;
  std::unique_ptr<SimGrid> simgrid_;
  std::vector<Flow> flows_;  ///< in flight, by slot
  std::vector<std::uint64_t> free_slots_;
  std::uint64_t started_ = 0;
  NetworkStats stats_;
};

}  // namespace dooly::sim
