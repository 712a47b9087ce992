#include "simulated_run.hpp"

#include "cli_error.hpp"
#include "identity.hpp"
#include "progress.hpp"

#include "results/errors.hpp"
#include "results/run_output.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dooly::cli {
namespace {

/// Simulated time after which no request comes, from `duration` of every workload; 0: some workload has none.
double arrivals_end_s(const scenario::Scenario& scenario) {
  double end_s = 0;
  for (const scenario::WorkloadSpec& workload : scenario.workloads) {
    const auto duration_s = std::visit([](const auto& source) { return source.duration_s; }, workload.source);
    if (!duration_s) return 0;
    end_s = std::max(end_s, *duration_s);
  }
  return end_s;
}

/// The steps of a run in their order.
class SimulatedRun {
 public:
  SimulatedRun(const ScenarioArguments& arguments, const RunTargets& targets, const Terminal& terminal,
               const std::atomic<bool>& interrupted)
      : arguments_(arguments),
        targets_(targets),
        terminal_(terminal),
        interrupted_(interrupted) {}

  FinishedRun run() {
    load();
    build();
    work();
    write();
    return std::move(finished_);
  }

 private:
  void load() {
    scenario_ = arguments_.load();
    deployment_ = std::make_unique<sim::Deployment>(deploy(scenario_, arguments_.path));
    claim_output();
    source_ = open_workload(scenario_, *deployment_);
    identity_ = identity_of(scenario_);
    watch_.lap("load");
  }

  /// Before the workload is read, which may take a while.
  void claim_output() {
    const scenario::OutputSpec& output = scenario_.output;
    if (!targets_.directory && (output.iterations_csv || output.decisions_jsonl))
      terminal_.warning("output: iterations and decisions need --out DIR and are not written");
    std::vector<std::string> pools;
    for (const scenario::Pool& pool : scenario_.pools) pools.push_back(pool.name);
    results::RowNames names{.request_class = [this](std::uint16_t number) { return classes_->classes()[number]; },
                            .pool = [pools](std::uint16_t number) { return pools[number]; }};
    output_ = std::make_unique<results::RunOutput>(
        targets_.directory, targets_.force,
        results::OutputFiles{output.requests_csv, output.iterations_csv, output.decisions_jsonl}, std::move(names),
        pools);
  }

  void build() {
    sim::RunSinks sinks{.requests = output_->requests(),
                        .iterations = output_->iterations(),
                        .decisions = output_->decisions(),
                        .received = nullptr,
                        .interrupted = &interrupted_,
                        .progress = {}};
    if (targets_.received != nullptr) {
      writer_ = std::make_unique<workload::TraceWriter>(targets_.received->stream(), targets_.received->encoding(),
                                                        source_->columns());
      sinks.received = writer_.get();
    }
    progress_ = std::make_unique<Progress>(terminal_, source_->expected_requests(), arrivals_end_s(scenario_));
    sinks.progress = [this](std::uint64_t ended, double simulated_s) {
      progress_->update(ended, simulated_s);
      return !output_->failed() && !received_failed();
    };
    classes_ = source_.get();
    simulation_ = std::make_unique<sim::Simulation>(scenario_, std::move(*deployment_), std::move(source_),
                                                    std::move(identity_), std::move(sinks));
    watch_.lap("build");
  }

  void work() {
    try {
      finished_.outcome = simulation_->run();
    } catch (const std::runtime_error& error) {
      // A breach of a policy's rules, a bad row in the middle of a trace, a plug-in's own trouble. Bugs of this program
      // are std::logic_error.
      progress_->clear();
      throw CannotFinish(error.what());
    }
    progress_->clear();
    explain_stop();
    watch_.lap("simulate");
  }

  bool received_failed() const { return targets_.received != nullptr && targets_.received->failed(); }

  /// A run that was stopped because a file failed was not interrupted by the user.
  void explain_stop() {
    std::optional<std::string>& partial = finished_.outcome.summary.run.partial;
    if (finished_.outcome.end != sim::RunOutcome::End::kInterrupted || interrupted_) return;
    partial.reset();  // a failed result file is told by RunOutput
    if (received_failed()) partial = "the exported trace could not be written";
  }

  /// A run may have taken long: whatever cannot be written, the rest is.
  void write() {
    const auto attempt = [this](auto&& step) {
      try {
        step();
      } catch (const results::WriteFailed& error) {
        finished_.write_failure += (finished_.write_failure.empty() ? "" : "\n") + std::string(error.what());
      }
    };
    attempt([this] {
      if (!writer_) return;
      writer_->finish();
      targets_.received->finish();
    });
    bool is_timed = false;
    const auto timed = [this, &is_timed] {
      is_timed = true;
      watch_.lap("write");
      return finished_.timing = timing();
    };
    attempt([this, &timed] { output_->publish(finished_.outcome.summary, timed); });
    if (!is_timed) timed();  // nothing was written, or not all
    finished_.published = output_->published();
  }

  results::Timing timing() const {
    const results::ProcessUsage usage = results::process_usage();
    const results::RequestCounts& requests = finished_.outcome.summary.all.requests;
    return {.wall_s = watch_.total_s(),
            .cpu_s = usage.cpu_s,
            .peak_rss_bytes = usage.peak_rss_bytes,
            .requests = requests.submitted - requests.unfinished,
            .iterations = finished_.outcome.iterations,
            .stages_s = watch_.stages_s()};
  }

  const ScenarioArguments& arguments_;
  const RunTargets& targets_;
  const Terminal& terminal_;
  const std::atomic<bool>& interrupted_;
  Stopwatch watch_;
  scenario::Scenario scenario_;
  std::unique_ptr<sim::Deployment> deployment_;
  std::unique_ptr<results::RunOutput> output_;
  std::unique_ptr<workload::RequestSource> source_;
  const workload::RequestSource* classes_ = nullptr;  ///< the source, which the simulation owns while it runs
  results::ScenarioIdentity identity_;
  std::unique_ptr<workload::TraceWriter> writer_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<sim::Simulation> simulation_;
  FinishedRun finished_;
};

}  // namespace

FinishedRun simulate(const ScenarioArguments& arguments, const RunTargets& targets, const Terminal& terminal,
                     const std::atomic<bool>& interrupted) {
  return SimulatedRun(arguments, targets, terminal, interrupted).run();
}

}  // namespace dooly::cli
