#pragma once

#include "exit_code.hpp"
#include "terminal.hpp"

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dooly::cli {

/// An option of a command: `--name VALUE`, or a flag if it takes no value. Its target must live as long as the
/// command's action.
struct OptionSpec {
  std::string name;   ///< "--out"
  std::string value;  ///< "DIR"; empty: a flag
  std::string help;
  std::variant<bool*, std::optional<std::string>*, std::vector<std::string>*> target;
  std::vector<std::string> allowed = {};  ///< empty: any value
};

/// What stands without a dash.
struct ArgumentSpec {
  std::string name;  ///< "SCENARIO.yaml"
  std::string help;
  std::variant<std::string*, std::vector<std::string>*> target;  ///< a list takes one or more
  std::vector<std::string> allowed = {};
};

/// A verb, told as data: parsing, help and errors are made from it. A command either has subcommands or an action.
struct Command {
  std::string name;
  std::string purpose;  ///< one line
  std::string details = {};  ///< for its own help; may be empty
  std::vector<ArgumentSpec> arguments = {};
  std::vector<OptionSpec> options = {};
  std::vector<std::string> examples = {};
  std::vector<Command> subcommands = {};
  std::function<ExitCode(Terminal&)> action = {};
  bool is_built = true;  ///< false: a later version brings it; takes any arguments
};

}  // namespace dooly::cli
