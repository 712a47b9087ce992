#include "cli_error.hpp"
#include "verbs.hpp"

#include <utility>

namespace dooly::cli {

std::vector<Command> later_commands() {
  constexpr std::pair<const char*, const char*> kVerbs[] = {
      {"study", "many simulations: a grid, a capacity search, a Pareto front"},
      {"report", "the HTML report of one or several results"},
  };
  std::vector<Command> commands;
  for (const auto& [name, purpose] : kVerbs) {
    Command command{.name = name, .purpose = purpose};
    command.is_built = false;
    command.action = [verb = std::string(name)](Terminal&) -> ExitCode {
      throw UsageError("dooly " + verb + ": not built yet in this version");
    };
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace dooly::cli
