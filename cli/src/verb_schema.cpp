#include "cli_error.hpp"
#include "verbs.hpp"

#include "scenarios/write.hpp"

#include <memory>

namespace dooly::cli {

Command schema_command() {
  const auto kind = std::make_shared<std::string>();
  Command command{.name = "schema", .purpose = "JSON Schema of the scenario format, for editors"};
  command.arguments = {{"KIND", "of what", kind.get(), {"scenario", "study"}}};
  command.examples = {"dooly schema scenario > scenario.schema.json",
                      "# then, on top of a scenario: # yaml-language-server: $schema=scenario.schema.json"};
  command.action = [kind](Terminal& terminal) {
    if (*kind == "study") throw UsageError("dooly schema study: not built yet in this version");
    terminal.print(scenario::json_schema());
    return ExitCode::kDone;
  };
  return command;
}

}  // namespace dooly::cli
