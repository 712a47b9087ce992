#pragma once

#include "scenario_arguments.hpp"
#include "stopwatch.hpp"
#include "terminal.hpp"
#include "trace_file.hpp"

#include "results/output_directory.hpp"
#include "results/timing.hpp"
#include "sim/simulation.hpp"

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

namespace dooly::cli {

/// Where the files of a run go.
struct RunTargets {
  std::optional<std::filesystem::path> directory;  ///< none: no result files
  bool force = false;              ///< replace results that are there
  TraceFile* received = nullptr;   ///< gets the requests as they arrived; finished when the run has ended
};

/// A run that has ended, its files written.
struct FinishedRun {
  sim::RunOutcome outcome;
  results::Timing timing;
  std::string write_failure;  ///< what could not be written; empty: everything was
  results::Published published = results::Published::kNothing;  ///< of the result files
};

/// Simulates a scenario and writes its files: first everything that may be refused, then the work, then the results,
/// whole or marked as partial. Ends early when `interrupted` is raised. Throws what its parts throw; what goes wrong
/// once the simulation runs is CannotFinish.
FinishedRun simulate(const ScenarioArguments& arguments, const RunTargets& targets, const Terminal& terminal,
                     const std::atomic<bool>& interrupted);

}  // namespace dooly::cli
