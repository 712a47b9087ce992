#pragma once

#include "decision_rows.hpp"
#include "profiling_engine/sequence_book.hpp"
#include "profiling_engine/serve.hpp"
#include "profiling_engine/step_runner.hpp"

#include "replica_core/engine.hpp"

#include "dooly/sdk/policy.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace dooly::profiling {

/// The engine loop in real time: the simulator's engine decides, a model computes. One turn is that of vLLM's engine
/// core (step_with_batch_queue): take what has arrived, schedule, launch, and unless the queue of batches has room and
/// there is more to schedule wait for the oldest batch and read its result.
class EngineServer {
 public:
  /// All references must outlive the server. `run.requests` and `run.engine` must be filled in.
  EngineServer(ServedRun& run, const ServeOptions& options, sdk::SchedulerPolicy& policy, StepRunner& runner,
               std::uint64_t vocabulary);
  void serve();

 private:
  using Clock = std::chrono::steady_clock;
  struct InFlight {
    std::optional<std::size_t> iteration;  ///< its place in the run; none: it has no tokens
    std::vector<std::uint32_t> sampling;   ///< requests in the order of the token ids
  };

  std::int64_t now_us() const;
  std::int64_t due_us(std::size_t request) const;
  bool is_idle() const { return !engine_.has_requests() && engine_.batches_in_flight() == 0; }
  void wait_for_arrival();
  void take_arrivals();
  bool schedule();
  void launch(const replica::Batch& batch, std::int64_t begin_us, std::int64_t end_us);
  void read_result();
  void deliver(std::span<const replica::ResultEvent> events, std::int64_t at_us);
  void check_progress();
  replica::ContentPath content_of(std::size_t request) const;

  ServedRun& run_;
  const ServeOptions& options_;
  StepRunner& runner_;
  std::uint64_t vocabulary_;
  replica::Engine engine_;
  SequenceBook book_;
  DecisionRows rows_;
  Clock::time_point zero_;
  std::vector<replica::ContentPath> contents_;
  std::vector<std::int64_t> free_since_us_;  ///< closed loop: when request i's worker became free
  std::size_t next_ = 0;                     ///< request that arrives next
  std::size_t finished_ = 0;
  std::deque<InFlight> in_flight_;
};

}  // namespace dooly::profiling
