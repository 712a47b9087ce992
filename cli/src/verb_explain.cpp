#include "scenario_arguments.hpp"
#include "verbs.hpp"

#include "scenarios/write.hpp"
#include "sim/simulation.hpp"

#include <memory>

namespace dooly::cli {
namespace {

ExitCode explain(const ScenarioArguments& arguments, Terminal& terminal) {
  const scenario::Scenario scenario = arguments.load();
  const sim::Deployment deployment = deploy(scenario, arguments.path);
  scenario::ExplainNotes notes;
  notes.scenario = {"Every default written out, by dooly " + sim::program_version() +
                        ". `dooly run` accepts this file; the comments are what it derives.",
                    std::to_string(deployment.gpus()) + " GPUs in all"};
  notes.pool = [&](std::size_t pool) { return deployment.notes(pool); };
  terminal.print(scenario::explain(scenario, notes));
  return ExitCode::kDone;
}

}  // namespace

Command explain_command() {
  const auto arguments = std::make_shared<ScenarioArguments>();
  Command command{.name = "explain", .purpose = "the scenario with every default, and what follows from it"};
  command.details =
      "Prints the scenario in its full form: every default filled in, absolute paths (shipped stores by name), and as\n"
      "comments the figures that are derived from it: KV blocks and the sum behind them, weights, what a step takes, "
      "the\nplatform.\n";
  command.arguments = {arguments->argument()};
  command.options = arguments->options();
  command.examples = {"dooly explain mine.yaml", "dooly explain mine.yaml --set tp=2 > full.yaml"};
  command.action = [arguments](Terminal& terminal) { return explain(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
