#pragma once

#include "results/decision_log.hpp"
#include "results/finished_request.hpp"
#include "results/iteration_log.hpp"
#include "results/recorder.hpp"
#include "results/requests_csv.hpp"
#include "results/summary.hpp"
#include "scenarios/scenario.hpp"
#include "sim/deployment.hpp"
#include "workload/request_source.hpp"
#include "workload/trace_writer.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace dooly::sim {

/// Where a run's files go and who watches it. Null members: nobody. All must outlive the run.
struct RunSinks {
  results::RequestsCsv* requests = nullptr;
  results::IterationLog* iterations = nullptr;
  results::DecisionLog* decisions = nullptr;
  workload::TraceWriter* received = nullptr;          ///< gets every request as it arrived
  std::function<void(const results::FinishedRequest&)> ended = {};  ///< gets every request when it has ended
  const std::atomic<bool>* interrupted = nullptr;     ///< set by a signal handler: stop soon, with partial results
  /// Called every few ten thousand events. Returns false to stop as if interrupted (a sink failed, ...).
  std::function<bool(std::uint64_t ended, double simulated_s)> progress;
};

/// How a run ended.
struct RunOutcome {
  enum class End { kDone, kStalled, kInterrupted, kBroken };
  End end = End::kDone;
  std::vector<std::string>
      stuck;  ///< kStalled: a line per request that cannot go on and what it waits for (at most 20)
  std::uint64_t stuck_total = 0;
  std::string broken;  ///< kBroken: what a policy, a plug-in or a trace did that no run survives
  results::Summary summary;
  std::uint64_t iterations = 0;
  std::uint64_t events = 0;
};

/// One run of one scenario: requests flow workload -> router -> replica -> batch -> oracle -> recorder, on SimGrid's
/// clock and network. One per process (SimGrid).
class Simulation {
 public:
  /// `identity` names the scenario in the results. Throws DeploymentError or WorkloadError.
  Simulation(const scenario::Scenario& scenario, Deployment deployment, std::unique_ptr<workload::RequestSource> source,
             results::ScenarioIdentity identity, RunSinks sinks);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  void set_fast_forward(bool on);
  /// Runs to the end, or to where a policy breaks a rule, a plug-in throws or a trace shows a bad row. Throws
  /// std::logic_error (an invariant is broken: a bug).
  RunOutcome run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Version of this program as results name it.
std::string program_version();

}  // namespace dooly::sim
