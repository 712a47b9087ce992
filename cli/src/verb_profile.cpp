#include "start_profiler.hpp"
#include "verbs.hpp"

namespace dooly::cli {

/// Known here for the main help; run_program() hands everything behind `profile` to the other program.
Command profile_command() {
  Command command{.name = "profile", .purpose = "measures a model's operators on a GPU (starts dooly-profile)"};
  command.action = [](Terminal&) -> ExitCode { start_profiler({}); };
  return command;
}

}  // namespace dooly::cli
