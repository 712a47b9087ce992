#pragma once

#include "command.hpp"

#include <vector>

namespace dooly::cli {

Command run_command();
Command init_command();
Command check_command();
Command explain_command();
Command schema_command();
Command list_command();
Command workload_command();
Command new_command();
Command plan_command();
Command store_command();
Command predict_command();
Command profile_command();
Command serve_oracle_command();
Command validate_command();
/// Verbs that later versions bring; each says so.
std::vector<Command> later_commands();

/// Verbs under a heading of the main help.
struct VerbGroup {
  std::string heading;
  std::vector<Command> commands;
};
/// Every verb, in the order of the help.
std::vector<VerbGroup> all_verbs();

}  // namespace dooly::cli
