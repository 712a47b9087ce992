#pragma once

#include "live_requests.hpp"
#include "run_listener.hpp"
#include "sim/event_pump.hpp"
#include "sim/fabric.hpp"
#include "sim/kv_transfer.hpp"
#include "sim/livelock_watch.hpp"
#include "sim/pool_router.hpp"
#include "sim/simulation.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dooly::sim {

using replica::RequestTag;

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
  void queued(RequestTag request, double now_s) override;
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
  void place(RequestTag tag, std::size_t pool_index, LiveRequest::Stage stage, double now_s);
  replica::ReplicaRequest replica_request(RequestTag tag, const LiveRequest& live, LiveRequest::Stage stage) const;
  void leave_router(const LiveRequest& live, double now_s);
  void hand_over(RequestTag tag, double now_s);
  std::uint64_t transfer_bytes(RequestTag tag, std::uint32_t tokens);
  void complete(RequestTag tag, const replica::Completion& completion);
  void end_request(RequestTag tag, workload::Outcome outcome, double client_s);
  void heed_watchers();
  void heed_livelock();
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
  std::uint64_t ticks_ = 0, turns_ = 0;
  std::uint64_t completed_output_ = 0;
  std::uint64_t handed_over_ = 0;  ///< prefilled requests that went on to a decode replica
  std::uint64_t truncated_ = 0;
  double last_client_s_ = 0;
  results::NetworkTotals waits_;  ///< of KV for blocks on the decode side
  LivelockWatch livelock_watch_;
  bool livelock_ = false;
  bool interrupted_ = false;
  bool bad_row_ = false;
};

}  // namespace dooly::sim
