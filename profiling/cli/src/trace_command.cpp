#include "cli_error.hpp"
#include "commands.hpp"

namespace dooly::profiling {

cli::Command trace_command() {
  cli::Command command{.name = "trace", .purpose = "the taint trace of a model"};
  command.is_built = false;
  command.action = [](cli::Terminal&) -> cli::ExitCode {
    throw cli::UsageError("dooly profile trace: not built yet in this version");
  };
  return command;
}

}  // namespace dooly::profiling
