#include "interrupts.hpp"
#include "simulated_run.hpp"
#include "verbs.hpp"

#include "results/summary_json.hpp"
#include "results/terminal_summary.hpp"

#include <fmt/format.h>

#include <memory>

namespace dooly::cli {
namespace {

struct RunArguments {
  ScenarioArguments scenario;
  std::optional<std::string> out, format, received;
  bool force = false;
};

ExitCode exit_code(const FinishedRun& run) {
  using End = sim::RunOutcome::End;
  if (!run.write_failure.empty()) return ExitCode::kUnfinished;
  if (run.outcome.end == End::kInterrupted) return ExitCode::kInterrupted;
  return run.outcome.end == End::kDone ? ExitCode::kDone : ExitCode::kUnfinished;
}

/// Where the time went, for who looks closer.
void tell_stages(const results::Timing& timing, const Terminal& terminal) {
  for (const auto& [stage, time_s] : timing.stages_s) terminal.debug(fmt::format("{} {:.6f} s", stage, time_s));
}

void tell_stuck(const sim::RunOutcome& outcome, const Terminal& terminal) {
  for (const std::string& line : outcome.stuck) terminal.error(line);
  if (outcome.stuck_total > outcome.stuck.size())
    terminal.error("and " + std::to_string(outcome.stuck_total - outcome.stuck.size()) + " more");
}

/// Nothing on a disk that was full even for the summary: the directory may be gone then.
void tell_results(const FinishedRun& run, const std::string& directory, const Terminal& terminal) {
  using results::Published;
  if (run.published == Published::kNothing) return;
  const bool is_whole = run.published == Published::kAll && !run.outcome.summary.run.partial;
  terminal.note((is_whole ? "results in " : "partial results in ") + directory);
}

void print_result(const FinishedRun& run, bool as_json, Terminal& terminal) {
  const results::Summary& summary = run.outcome.summary;
  if (!as_json) return terminal.print(results::terminal_summary(summary, run.timing, terminal.colours()));
  terminal.print(results::summary_json(summary));
  for (const std::string& warning : results::summary_warnings(summary)) terminal.warning(warning);
}

ExitCode run(const RunArguments& arguments, Terminal& terminal) {
  const Interrupts interrupts;
  RunTargets targets{.directory = {}, .force = arguments.force, .received = nullptr};
  if (arguments.out) targets.directory = *arguments.out;
  std::optional<TraceFile> received;
  if (arguments.received) targets.received = &received.emplace(*arguments.received, arguments.force);
  const FinishedRun done = simulate(arguments.scenario, targets, terminal, interrupts.flag());
  print_result(done, arguments.format == "json", terminal);
  terminal.flush();
  const std::optional<std::string>& partial = done.outcome.summary.run.partial;
  if (partial) terminal.error(done.outcome.broken.empty() ? *partial : done.outcome.broken);
  tell_stuck(done.outcome, terminal);
  tell_stages(done.timing, terminal);
  if (arguments.out) tell_results(done, *arguments.out, terminal);
  if (!done.write_failure.empty()) terminal.error(done.write_failure);
  return exit_code(done);
}

}  // namespace

Command run_command() {
  const auto arguments = std::make_shared<RunArguments>();
  Command command{.name = "run", .purpose = "one simulation: its summary, and its results as files"};
  command.details =
      "Simulates the scenario and prints the summary. With --out the results are written, too: summary.json,\n"
      "requests.csv (a row per request), timing.json (what the simulation itself cost), and what the scenario\n"
      "asks for under `output`: iterations.csv, decisions.jsonl. All but timing.json are the same bytes whenever\n"
      "the same scenario, files and seed are run. Ctrl-C writes what there is, marked by a file PARTIAL.\n";
  command.arguments = {arguments->scenario.argument()};
  command.options = {
      {"--out", "DIR", "write the results there; the directory is made where it is missing", &arguments->out},
      {"--force", "", "replace results that are there already", &arguments->force}};
  for (OptionSpec& option : arguments->scenario.options()) command.options.push_back(std::move(option));
  command.options.push_back({"--format", "FORMAT", "of the summary on stdout", &arguments->format, {"text", "json"}});
  command.options.push_back({"--export", "FILE",
                             "also write the requests as they arrived, as a dooly-trace (.csv or .jsonl)",
                             &arguments->received});
  command.examples = {"dooly run scenarios/quickstart.yaml", "dooly run mine.yaml --out results",
                      "dooly run mine.yaml --set replicas=4 --set workload.synthetic.arrivals.rate=60/s",
                      "dooly run mine.yaml --set pools.decode.replicas=8 --seed 7 --out results --force",
                      "dooly run mine.yaml --quiet --format json | jq .ttft_s.p99"};
  command.action = [arguments](Terminal& terminal) { return run(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
