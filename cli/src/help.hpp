#pragma once

#include "command.hpp"
#include "verbs.hpp"

#include <span>
#include <string>

namespace dooly::cli {

/// `dooly --help`: what the program is for, its verbs by group, first steps.
std::string main_help(std::span<const VerbGroup> groups, std::span<const OptionSpec> globals);

/// `dooly VERB --help`. `path` is what the user types: "dooly workload stats".
std::string command_help(const Command& command, const std::string& path, std::span<const OptionSpec> globals);

}  // namespace dooly::cli
