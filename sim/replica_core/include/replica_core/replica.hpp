#pragma once

#include "replica_core/engine.hpp"
#include "replica_core/observer.hpp"

#include "oracle/latency_oracle.hpp"

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

namespace dooly::replica {

/// One engine instance in time: runs the engine loop (read inputs, schedule, launch, wait for the oldest result,
/// update, deliver) with the oracle's times. Knows no simulator: whoever owns the clock calls run_turn() at
/// next_turn_s(), and catch_up() before it hands something in or looks at state.
///
/// Asynchronous scheduling launches step k+1 before it reads the result of step k; synchronous scheduling waits for
/// each. Source of the order: vLLM V1 engine core, step() and step_with_batch_queue().
///
/// Between changes of the batch (arrival, finish, shortage of blocks) steps are computed ahead in one loop; catch_up()
/// commits those that had started. Results equal stepping one by one, bit for bit.
class Replica {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// All references must outlive the replica.
  Replica(const EngineConfig& config, sdk::SchedulerPolicy& policy, const oracle::LatencyOracle& oracle,
          ReplicaObserver& observer, std::unique_ptr<KvCache> cache = nullptr);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // --- inputs; now_s must not lie before the last turn
  /// The client's request reaches the engine's queue after the oracle's input and hashing times.
  void submit(const ReplicaRequest& request, double now_s);
  void abort(RequestTag request, double now_s);
  void load_finished(RequestTag request, double now_s);  ///< the remote KV has arrived
  void release_held(RequestTag request, double now_s);   ///< the blocks held for a transfer may go

  // --- time
  /// When the loop next does something that others can see; kNever: waits for an input.
  double next_turn_s() const { return next_turn_s_; }
  void run_turn();
  /// Commits every step that started before now_s (none that starts at now_s or later).
  void catch_up(double now_s);
  /// Looks ahead over steps that change no batch (default). Off: every step is a turn; for tests.
  void set_fast_forward(bool on) { fast_forward_ = on; }

  /// Which of the replicas that share the oracle it is (BatchShape::replica).
  void set_number(std::uint32_t number) { number_ = number; }

  /// Reports every iteration and call from now on; null: nobody. Steps are then made one by one.
  void listen(IterationListener* listener) { listener_ = listener; }

  // --- state, as of the last catch_up or turn
  std::uint32_t running() const { return engine_.running_total(); }
  std::uint32_t waiting() const;  ///< in the engine's queues or on the way to them
  std::uint32_t free_blocks() const { return engine_.cache().free_blocks(); }
  std::uint32_t cached_prefix(const ReplicaRequest& request) const;
  bool is_idle() const;
  const ReplicaStats& stats() const { return stats_; }
  const EngineConfig& config() const { return engine_.config(); }
  /// Throws std::logic_error if blocks or references do not balance.
  void check_invariants() const { engine_.cache().check_balance(); }

  Engine& engine() { return engine_; }  ///< for decision logs and replays
  const Engine& engine() const { return engine_; }

  /// The pieces of a turn, for drivers that feed recorded inputs between them (run_turn is built of the same):
  /// adds what is due, makes one scheduling call; false: there was nothing to do.
  bool schedule_step();
  /// Whether the step has to wait for its oldest batch, and reads that result.
  bool must_wait() const { return wait_for_result_; }
  void read_result();
  double clock_s() const { return host_s_; }
  void set_clock(double now_s) { host_s_ = now_s; }

 private:
  struct Incoming {
    ReplicaRequest request;
    double ready_s;
  };
  struct PendingResult {
    double ready_s, update_s, delivery_s, device_s;
  };
  /// One step that was computed ahead: a light one, see Engine::light_steps.
  struct AheadStep {
    double start_s;    ///< reads the oldest result and begins to schedule
    double host_s;     ///< has been launched
    double ready_s;    ///< its result is there
    double client_s;   ///< the result read at start_s has been delivered
  };
  /// What the oracle says of it, where the steps ahead do not share it.
  struct AheadCost {
    oracle::StepCost cost;
  };
  void interrupt(double at_s);
  void read_inputs();
  void launch(Batch& batch);
  void finish_result(Batch& batch);
  void report_gaps(const Batch& batch, double gap_s);
  void plan_ahead();
  void plan_run(std::uint32_t steps, double stop_s);
  void plan_run_warming(std::uint32_t steps, double stop_s);
  void plan_step_by_step(std::uint32_t steps, double stop_s);
  std::uint32_t steps_with_blocks(std::uint32_t steps) const;
  void commit_ahead(std::size_t steps);
  void commit_results(std::size_t steps);
  void commit_costs(std::size_t steps);
  oracle::HostTime host_times_ahead(std::size_t step) const;
  static PendingResult pending(const Batch& batch);
  void account_step(const oracle::BatchShape& shape, const oracle::StepCost& cost);
  void account_time(const oracle::BatchShape& shape, double end_s);
  void account_blocks(double now_s);
  void note_blocks(double now_s, std::uint32_t used);
  void advance_clock_regime(double since_s, double end_s, double busy_s, double compute_share);

  Engine engine_;
  std::uint32_t number_ = 0;
  const oracle::LatencyOracle& oracle_;
  oracle::LatencyOracle::ClockModel clock_model_;
  ReplicaObserver& observer_;
  IterationListener* listener_ = nullptr;
  std::deque<Incoming> inbox_;
  double input_ready_s_ = 0;   ///< the input thread is busy hashing until then
  double host_s_ = 0;          ///< clock of the engine loop
  double device_end_s_ = 0;    ///< the device has finished everything launched so far
  double client_s_ = 0;        ///< time of the last delivery
  double last_result_s_ = 0;
  double first_start_s_ = 0;   ///< the loop came out of idleness
  double blocks_since_s_ = 0;
  std::uint32_t blocks_used_ = 0;
  double next_turn_s_ = kNever;
  oracle::DeviceState device_;
  bool is_after_prefill_ = false;  ///< the last step had a part of a prompt
  bool wait_for_result_ = false;  ///< the oldest batch's result is read at the start of the next turn
  bool fast_forward_ = true;
  std::vector<AheadStep> ahead_;
  std::vector<double> ahead_device_s_;     ///< device time of each
  std::vector<double> ahead_sustained_;    ///< device state after each, if its clock moves
  bool ahead_is_run_ = false;              ///< they share `ahead_run_`; else each has its own `ahead_costs_`
  oracle::LatencyOracle::DecodeRun ahead_run_;
  std::vector<AheadCost> ahead_costs_;
  oracle::BatchShape ahead_shape_;         ///< of the first step planned
  std::vector<double> gaps_s_;
  std::uint32_t ahead_limit_ = 16;  ///< steps looked ahead: doubles while they come true, shrinks when cut short
  std::size_t ahead_first_ = 0;  ///< those before have been committed
  ReplicaStats stats_;
};

}  // namespace dooly::replica
