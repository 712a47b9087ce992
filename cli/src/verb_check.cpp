#include "scenario_arguments.hpp"
#include "verbs.hpp"

#include "cli_error.hpp"
#include "scenarios/load.hpp"
#include "workload/convert.hpp"
#include "workload/workload.hpp"
#include "workload/workload_error.hpp"

#include <memory>
#include <ostream>
#include <streambuf>
#include <variant>

namespace dooly::cli {
namespace {

struct CheckArguments {
  std::vector<std::string> files;
  std::vector<std::string> sets;
};

/// Takes everything and keeps nothing.
class NoBuffer final : public std::streambuf {
 protected:
  int overflow(int c) override { return c == traits_type::eof() ? 0 : c; }
  std::streamsize xsputn(const char*, std::streamsize count) override { return count; }
};

/// Reads traces to their last row: large ones are otherwise checked only while a run streams them.
void read_traces(const scenario::Scenario& scenario) {
  for (scenario::WorkloadSpec workload : scenario.workloads) {
    auto* trace = std::get_if<scenario::TraceSpec>(&workload.source);
    if (trace == nullptr || trace->format == "servegen") continue;
    trace->loop = 1;
    trace->arrivals = scenario::Arrivals{scenario::AtOnceArrivals{}};
    NoBuffer nowhere;
    std::ostream out(&nowhere);
    const auto source = workload::make_workload({workload}, scenario.seed, [](const std::string&) { return 0u; });
    workload::export_workload(*source, workload::TraceWriter::Encoding::kCsv, out);
  }
}

/// Everything that a run does before it starts.
void check_one(const std::string& file, const std::vector<std::string>& sets) {
  const ScenarioArguments arguments{file, sets, {}};
  const scenario::Scenario scenario = arguments.load();
  const sim::Deployment deployment = deploy(scenario, file);
  open_workload(scenario, deployment);
  read_traces(scenario);
}

ExitCode check(const CheckArguments& arguments, Terminal& terminal) {
  ExitCode code = ExitCode::kDone;
  const auto refused = [&](const std::exception& error) {
    terminal.error(error.what());
    code = ExitCode::kRefused;
  };
  for (const std::string& file : arguments.files) {
    try {
      check_one(file, arguments.sets);
      terminal.print(file + ": ok\n");
    } catch (const scenario::ScenarioError& error) {
      refused(error);
    } catch (const sim::DeploymentError& error) {
      refused(error);
    } catch (const workload::WorkloadError& error) {
      refused(error);
    }
  }
  return code;
}

}  // namespace

Command check_command() {
  const auto arguments = std::make_shared<CheckArguments>();
  Command command{.name = "check", .purpose = "validates scenarios fully, runs nothing"};
  command.details =
      "Finds every mistake of a scenario at once: FILE:LINE:COL: key: what is wrong. Also loads its plug-ins, works\n"
      "out its memory and reads its traces, so that a scenario that passes can run.\n";
  command.arguments = {{"SCENARIO.yaml", "the files to check", &arguments->files}};
  command.options = {{"--set", "KEY=VALUE", "as for `dooly run`", &arguments->sets}};
  command.examples = {"dooly check mine.yaml", "dooly check scenarios/*.yaml"};
  command.action = [arguments](Terminal& terminal) { return check(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
