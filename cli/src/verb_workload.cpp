#include "cli_error.hpp"
#include "interrupts.hpp"
#include "removed_on_signal.hpp"
#include "simulated_run.hpp"
#include "verbs.hpp"

#include "scenarios/load.hpp"
#include "workload/convert.hpp"
#include "workload/stats.hpp"
#include "workload/trace_reader.hpp"
#include "workload/workload.hpp"

#include <memory>
#include <sstream>
#include <variant>

namespace dooly::cli {
namespace {

bool is_scenario(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

using Encoding = workload::TraceWriter::Encoding;

/// Whether later requests wait for the answers to earlier ones: what arrives then depends on the cluster.
bool reacts(const scenario::Scenario& scenario, const workload::RequestSource& source) {
  const auto is_loop = [](const scenario::Arrivals& arrivals) {
    return std::holds_alternative<scenario::ClosedLoopArrivals>(arrivals.process);
  };
  for (const scenario::WorkloadSpec& workload : scenario.workloads) {
    if (std::holds_alternative<scenario::SessionsSpec>(workload.source)) return true;
    if (const auto* synthetic = std::get_if<scenario::SyntheticSpec>(&workload.source))
      if (is_loop(synthetic->arrivals)) return true;
    if (const auto* trace = std::get_if<scenario::TraceSpec>(&workload.source))
      if (trace->arrivals && is_loop(*trace->arrivals)) return true;
  }
  return source.columns().after;
}

struct TraceArguments {
  ScenarioArguments scenario;  ///< `path` is the file in question
  std::optional<std::string> format, to, out;
  bool sort = false, force = false;

  OptionSpec format_option() {
    return {"--format", "NAME", "the trace's format, default: detected", &format, workload::trace_formats()};
  }
  std::vector<OptionSpec> output_options() {
    return {{"--to", "ENCODING", "default csv, or what --out ends in", &to, {"csv", "jsonl"}},
            {"--out", "FILE", "write there instead of to stdout", &out},
            {"--force", "", "replace a file that is there already", &force}};
  }
  std::optional<std::filesystem::path> target() const {
    return out ? std::optional<std::filesystem::path>(*out) : std::nullopt;
  }
  TraceFile open_output() const {
    return TraceFile(target(), force,
                     to ? std::optional(*to == "jsonl" ? Encoding::kJsonLines : Encoding::kCsv) : std::nullopt);
  }
};

ExitCode stats(const TraceArguments& arguments, Terminal& terminal) {
  std::ostringstream text;
  if (is_scenario(arguments.scenario.path)) {
    if (arguments.format)
      throw UsageError("--format: says what a trace is, but " + arguments.scenario.path + " is a scenario");
    const scenario::Scenario scenario = arguments.scenario.load();
    const auto source = open_workload(scenario, deploy(scenario, arguments.scenario.path));
    workload::print_stats(*source, text);
  } else {
    if (!arguments.scenario.sets.empty() || arguments.scenario.seed)
      throw UsageError("--set, --seed: change a scenario, but " + arguments.scenario.path +
                       " is taken for a trace (no .yaml)");
    const auto source = workload::open_trace_workload(arguments.scenario.path, arguments.format.value_or(""));
    workload::print_stats(*source, text);
  }
  terminal.print(text.str());
  return ExitCode::kDone;
}

ExitCode convert(const TraceArguments& arguments, Terminal& terminal) {
  TraceFile file = arguments.open_output();
  const RemovedOnSignal guard(file.temporary());
  workload::ConvertOptions options{.input = arguments.scenario.path,
                                   .format = arguments.format.value_or(""),
                                   .sort = arguments.sort,
                                   .encoding = file.encoding()};
  const std::uint64_t rows = workload::convert_trace(options, file.stream());
  file.finish();
  terminal.note(std::to_string(rows) + " requests written");
  return ExitCode::kDone;
}

/// By a simulation: what arrives depends on when answers come.
ExitCode export_simulated(const TraceArguments& arguments, Terminal& terminal) {
  const Interrupts interrupts;
  TraceFile file = arguments.open_output();
  RunTargets targets;
  targets.received = &file;
  const FinishedRun done = simulate(arguments.scenario, targets, terminal, interrupts.flag());
  if (!done.write_failure.empty()) throw CannotFinish(done.write_failure);
  if (done.outcome.end == sim::RunOutcome::End::kInterrupted) return ExitCode::kInterrupted;
  if (const auto& partial = done.outcome.summary.run.partial) throw CannotFinish(*partial + ": the trace ends there");
  terminal.note("the requests wait for answers, so the scenario was simulated");
  return ExitCode::kDone;
}

ExitCode export_scenario(const TraceArguments& arguments, Terminal& terminal) {
  const scenario::Scenario scenario = arguments.scenario.load();
  const auto source = open_workload(scenario, deploy(scenario, arguments.scenario.path));
  if (reacts(scenario, *source)) return export_simulated(arguments, terminal);
  TraceFile file = arguments.open_output();
  const RemovedOnSignal guard(file.temporary());
  const std::uint64_t rows = workload::export_workload(*source, file.encoding(), file.stream());
  file.finish();
  terminal.note(std::to_string(rows) + " requests written");
  return ExitCode::kDone;
}

Command stats_command() {
  const auto arguments = std::make_shared<TraceArguments>();
  Command command{.name = "stats", .purpose = "counts, lengths, burstiness, shared prefixes of a trace or scenario"};
  command.arguments = {{"FILE", "a trace, or a scenario (.yaml) for what it would send", &arguments->scenario.path}};
  command.options = {arguments->format_option()};
  for (OptionSpec& option : arguments->scenario.options()) command.options.push_back(std::move(option));
  command.examples = {"dooly workload stats trace.csv.gz", "dooly workload stats mine.yaml --seed 7"};
  command.action = [arguments](Terminal& terminal) { return stats(*arguments, terminal); };
  return command;
}

Command convert_command() {
  const auto arguments = std::make_shared<TraceArguments>();
  Command command{.name = "convert", .purpose = "rewrites a trace of any known format as a dooly-trace"};
  command.arguments = {{"FILE", "a trace; plain, gzip or zstd", &arguments->scenario.path}};
  command.options = {arguments->format_option(),
                     {"--sort", "", "accept rows in any order and sort them by arrival", &arguments->sort}};
  for (OptionSpec& option : arguments->output_options()) command.options.push_back(std::move(option));
  command.examples = {"dooly workload convert azure.csv.gz > trace.csv",
                      "dooly workload convert raw.jsonl --format mooncake --sort --out trace.jsonl"};
  command.action = [arguments](Terminal& terminal) { return convert(*arguments, terminal); };
  return command;
}

Command export_command() {
  const auto arguments = std::make_shared<TraceArguments>();
  Command command{.name = "export", .purpose = "writes the requests that a run of a scenario receives"};
  command.details =
      "Running the exported trace on the same cluster gives the same requests.csv, byte for byte. Where requests wait\n"
      "for answers (closed loops, sessions) the scenario is simulated to find out when they come.\n";
  command.arguments = {arguments->scenario.argument()};
  command.options = arguments->scenario.options();
  for (OptionSpec& option : arguments->output_options()) command.options.push_back(std::move(option));
  command.examples = {"dooly workload export mine.yaml > trace.csv",
                      "dooly workload export mine.yaml --seed 7 --out trace.jsonl"};
  command.action = [arguments](Terminal& terminal) { return export_scenario(*arguments, terminal); };
  return command;
}

}  // namespace

Command workload_command() {
  Command command{.name = "workload", .purpose = "looks at request traces, converts and exports them"};
  command.subcommands = {stats_command(), convert_command(), export_command()};
  return command;
}

}  // namespace dooly::cli
