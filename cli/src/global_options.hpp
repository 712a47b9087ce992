#pragma once

#include "command.hpp"
#include "terminal.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dooly::cli {

/// Options that every verb understands, of `dooly` and of the programs that it starts.
struct GlobalOptions {
  bool quiet = false, no_color = false;
  std::optional<std::string> log_level;

  std::vector<OptionSpec> specs();
  TerminalSettings settings() const;
};

}  // namespace dooly::cli
