#include "commands.hpp"

namespace dooly::profiling {

cli::Command profile_command(const Devices& devices, const ServeFunction& serve, const TraceFunction& trace) {
  cli::Command command{.name = "profile", .purpose = "measures a model's operators on a GPU"};
  command.subcommands = {model_command(devices), comm_command(), trace_command(trace), serve_command(serve),
                         score_command()};
  return command;
}

}  // namespace dooly::profiling
