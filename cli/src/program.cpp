#include "program.hpp"

#include "cli_error.hpp"
#include "command_line.hpp"
#include "global_options.hpp"
#include "help.hpp"
#include "path_error.hpp"
#include "start_profiler.hpp"
#include "verbs.hpp"

#include "files/errors.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle_store/store_error.hpp"
#include "results/errors.hpp"
#include "scenarios/load.hpp"
#include "schedulers/component_error.hpp"
#include "sim/deployment.hpp"
#include "sim/simulation.hpp"
#include "workload/workload_error.hpp"

#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace dooly::cli {
namespace {

/// A thread that cannot be started, for instance, has no room for its stack.
bool is_of_memory(const std::system_error& error) {
  return error.code() == std::errc::not_enough_memory || error.code() == std::errc::resource_unavailable_try_again;
}

/// Turns what was thrown into words and an exit status: the only place that does.
ExitCode told(const Terminal& terminal) {
  const auto say = [&](const std::exception& error, ExitCode code) {
    terminal.error(error.what());
    return code;
  };
  const auto out_of_memory = [&] {
    terminal.error("out of memory: the run needs more than this machine gives it");
    return ExitCode::kUnfinished;
  };
  try {
    throw;
  } catch (const UsageError& error) {
    return say(error, ExitCode::kRefused);
  } catch (const scenario::ScenarioError& error) {
    return say(error, ExitCode::kRefused);
  } catch (const sim::DeploymentError& error) {
    return say(error, ExitCode::kRefused);
  } catch (const workload::WorkloadError& error) {
    return say(error, ExitCode::kRefused);
  } catch (const schedulers::ComponentError& error) {
    return say(error, ExitCode::kRefused);
  } catch (const store::StoreWriteFailed& error) {
    return say(error, ExitCode::kUnfinished);
  } catch (const oracle::OracleError& error) {
    return say(error, ExitCode::kRefused);
  } catch (const files::NameRefused& error) {
    return say(error, ExitCode::kRefused);
  } catch (const files::WriteFailed& error) {
    return say(error, ExitCode::kUnfinished);
  } catch (const CannotFinish& error) {
    return say(error, ExitCode::kUnfinished);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {  // file systems among them
    if (is_of_memory(error)) return out_of_memory();
    return say(error, is_of_the_name(error) ? ExitCode::kRefused : ExitCode::kUnfinished);
  } catch (const std::exception& error) {
    terminal.error(std::string("internal check failed: ") + error.what() + "\nThis is a bug in dooly " +
                   sim::program_version() +
                   ", not in your input. Please report it with this message and the scenario.");
    return ExitCode::kInternal;
  }
}

std::vector<const Command*> flat(const std::vector<VerbGroup>& groups) {
  std::vector<const Command*> commands;
  for (const VerbGroup& group : groups)
    for (const Command& command : group.commands) commands.push_back(&command);
  return commands;
}

/// `dooly help run` is `dooly run --help`.
std::vector<const char*> spelled_out(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  return words;
}

ExitCode carry_out(const ParsedLine& line, const std::vector<VerbGroup>& groups, const std::vector<OptionSpec>& globals,
                   Terminal& terminal) {
  switch (line.what) {
    case ParsedLine::What::kRun: return line.command->action(terminal);
    case ParsedLine::What::kMainHelp: terminal.print(main_help(groups, globals)); break;
    case ParsedLine::What::kCommandHelp: terminal.print(command_help(*line.command, line.path, globals)); break;
    case ParsedLine::What::kVersion: terminal.print("dooly " + sim::program_version() + "\n"); break;
  }
  return ExitCode::kDone;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond its limit is a write error, as on a full disk
  GlobalOptions globals;
  Terminal terminal;
  try {
    const std::vector<VerbGroup> groups = all_verbs();
    const std::vector<OptionSpec> options = globals.specs();
    const std::vector<const char*> words = spelled_out(argc, argv);
    if (std::vector<std::string> rest; asks_for_profiler(words, rest)) start_profiler(rest);
    const ParsedLine line = parse_line(flat(groups), options, static_cast<int>(words.size()), words.data());
    terminal = Terminal(globals.settings());
    const ExitCode code = carry_out(line, groups, options, terminal);
    terminal.flush();
    return static_cast<int>(code);
  } catch (...) {
    const ExitCode code = told(terminal);
    std::fflush(stdout);
    return static_cast<int>(code);
  }
}

}  // namespace dooly::cli
