#include "commands.hpp"

namespace dooly::profiling {

cli::Command profile_command(const Devices& devices, const ServeFunction& serve, const TraceFunction& trace,
                             const StepFunction& study) {
  cli::Command command{.name = "profile", .purpose = "measures a model's operators on a GPU"};
  command.subcommands = {model_command(devices), comm_command(),      trace_command(trace),
                         serve_command(serve),   step_command(study), score_command()};
  return command;
}

}  // namespace dooly::profiling
