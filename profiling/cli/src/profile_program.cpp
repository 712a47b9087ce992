#include "profile_program.hpp"

#include "cli_error.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "files/errors.hpp"
#include "global_options.hpp"
#include "help.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle_store/store_error.hpp"
#include "path_error.hpp"
#include "profiling_sweep/sweep_error.hpp"

#include <cstdio>
#include <new>
#include <string>
#include <system_error>
#include <vector>

namespace dooly::profiling {
namespace {

using cli::ExitCode;
using cli::Terminal;

/// Turns what was thrown into words and an exit status.
ExitCode told(const Terminal& terminal) {
  const auto say = [&](const std::exception& error, ExitCode code) {
    terminal.error(error.what());
    return code;
  };
  try {
    throw;
  } catch (const cli::UsageError& error) {
    return say(error, ExitCode::kRefused);
  } catch (const store::StoreWriteFailed& error) {
    return say(error, ExitCode::kUnfinished);
  } catch (const oracle::OracleError& error) {
    return say(error, ExitCode::kRefused);
  } catch (const SweepError& error) {
    return say(error, ExitCode::kUnfinished);
  } catch (const cli::CannotFinish& error) {
    return say(error, ExitCode::kUnfinished);
  } catch (const files::NameRefused& error) {
    return say(error, ExitCode::kRefused);
  } catch (const files::WriteFailed& error) {
    return say(error, ExitCode::kUnfinished);
  } catch (const std::bad_alloc&) {
    terminal.error("out of memory: this needs more than the machine gives it");
    return ExitCode::kUnfinished;
  } catch (const std::system_error& error) {  // file systems among them
    return say(error, cli::is_of_the_name(error) ? ExitCode::kRefused : ExitCode::kUnfinished);
  } catch (const std::exception& error) {
    terminal.error(std::string("internal check failed: ") + error.what() +
                   "\nThis is a bug in dooly-profile, not in your input. Please report it with this message.");
    return ExitCode::kInternal;
  }
}

}  // namespace

int run_profile(int argc, const char* const* argv, const Devices& devices, const ServeFunction& serve,
                const TraceFunction& trace, const StepFunction& study, const RefusalFunction& refusal) {
  cli::GlobalOptions globals;
  Terminal terminal;
  try {
    const std::vector<cli::OptionSpec> options = globals.specs();
    const cli::Command profile = profile_command(devices, serve, trace, study, refusal);
    // The user typed `dooly profile …`: messages and help say so.
    std::vector<const char*> words{"dooly", "profile"};
    words.insert(words.end(), argv + 1, argv + argc);
    const cli::Command* commands[] = {&profile};
    const cli::ParsedLine line = parse_line(commands, options, static_cast<int>(words.size()), words.data());
    terminal = Terminal(globals.settings());
    ExitCode code = ExitCode::kDone;
    switch (line.what) {
      case cli::ParsedLine::What::kRun: code = line.command->action(terminal); break;
      case cli::ParsedLine::What::kMainHelp: terminal.print(command_help(profile, "dooly profile", options)); break;
      case cli::ParsedLine::What::kCommandHelp: terminal.print(command_help(*line.command, line.path, options)); break;
      case cli::ParsedLine::What::kVersion: terminal.print("dooly-profile " DOOLY_VERSION "\n"); break;
    }
    terminal.flush();
    return static_cast<int>(code);
  } catch (...) {
    const ExitCode code = told(terminal);
    std::fflush(stdout);
    return static_cast<int>(code);
  }
}

}  // namespace dooly::profiling
