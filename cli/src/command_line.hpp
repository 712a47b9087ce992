#pragma once

#include "command.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dooly::cli {

/// What a command line asks for.
struct ParsedLine {
  enum class What { kRun, kMainHelp, kCommandHelp, kVersion };
  What what = What::kRun;
  const Command* command = nullptr;  ///< kRun (its targets are filled), kCommandHelp
  std::string path;                  ///< "dooly workload stats"
};

/// Takes a command line apart; `globals` are understood before and behind every verb. Throws UsageError.
ParsedLine parse_line(std::span<const Command* const> commands, std::span<const OptionSpec> globals, int argc,
                      const char* const* argv);

}  // namespace dooly::cli
