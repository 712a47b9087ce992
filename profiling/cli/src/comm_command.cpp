#include "cli_error.hpp"
#include "commands.hpp"

namespace dooly::profiling {

cli::Command comm_command() {
  cli::Command command{.name = "comm", .purpose = "collectives of several GPUs"};
  command.is_built = false;
  command.action = [](cli::Terminal&) -> cli::ExitCode {
    throw cli::UsageError("dooly profile comm: not built yet in this version");
  };
  return command;
}

}  // namespace dooly::profiling
