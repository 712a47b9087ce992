#include "commands.hpp"

#include "documentation.hpp"

namespace dooly::profiling {

cli::Command profile_command(const Devices& devices, const ServeFunction& serve, const TraceFunction& trace,
                             const StepFunction& study, const RefusalFunction& refusal) {
  cli::Command command{.name = "profile", .purpose = "measures a model's operators on a GPU"};
  command.details = "How, and what it needs: " + cli::documentation("profiling.md") + "\n";
  command.subcommands = {model_command(devices, refusal),
                         comm_command(),
                         trace_command(trace),
                         serve_command(serve),
                         step_command(study),
                         score_command()};
  return command;
}

}  // namespace dooly::profiling
