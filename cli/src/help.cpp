#include "help.hpp"

#include "documentation.hpp"
#include "text.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace dooly::cli {
namespace {

constexpr std::size_t kWidth = 100;

std::string usage(const Command& command, const std::string& path) {
  std::string text = "Usage: " + path;
  if (!command.subcommands.empty()) return text + " COMMAND [OPTIONS]\n";
  for (const ArgumentSpec& argument : command.arguments)
    text += " " + argument.name + (std::holds_alternative<std::vector<std::string>*>(argument.target) ? "..." : "");
  return text + (command.is_built ? " [OPTIONS]\n" : " ...\n");
}

/// Name and help in two columns; long helps go on in the second one.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t widest = 0;
  for (const auto& [name, help] : rows) widest = std::max(widest, name.size());
  const std::size_t column = widest + 4;
  std::string text;
  for (const auto& [name, help] : rows) {
    text += "  " + name + std::string(column - 2 - name.size(), ' ');
    text += wrapped(std::string(column, ' ') + help, kWidth, column).substr(column) + "\n";
  }
  return text;
}

std::string with_allowed(const std::string& help, const std::vector<std::string>& allowed) {
  return allowed.empty() ? help : help + ": " + listed(allowed);
}

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows option_rows(std::span<const OptionSpec> options) {
  Rows rows;
  for (const OptionSpec& option : options) {
    const bool repeats = std::holds_alternative<std::vector<std::string>*>(option.target);
    rows.emplace_back(option.name + (option.value.empty() ? "" : " " + option.value) + (repeats ? "..." : ""),
                      with_allowed(option.help, option.allowed));
  }
  return rows;
}

Rows global_rows(std::span<const OptionSpec> globals) {
  Rows rows = option_rows(globals);
  rows.emplace_back("-h, --help", "help; behind a verb: that verb's");
  rows.emplace_back("-V, --version", "the program's version");
  return rows;
}

}  // namespace

std::string main_help(std::span<const VerbGroup> groups, std::span<const OptionSpec> globals) {
  std::string text =
      "Dooly simulates clusters that serve large language models: a request trace goes through a router,\n"
      "replicas with vLLM's scheduling rules and a network; out come latency and throughput as a client\n"
      "would measure them.\n\n"
      "Usage: dooly [OPTIONS] VERB ...\n";
  for (const VerbGroup& group : groups) {
    std::vector<std::vector<std::string>> rows;
    for (const Command& command : group.commands) rows.push_back({command.name, command.purpose});
    text += "\n" + group.heading + ":\n";
    for (auto& row : rows) row[0].resize(12, ' ');
    text += table(rows, 2);
  }
  text += "\nOptions:\n" + two_columns(global_rows(globals));
  text +=
      "\nFirst steps:\n"
      "  dooly init > mine.yaml                       a commented scenario to start from\n"
      "  dooly check mine.yaml                        every mistake at once, with line and column\n"
      "  dooly run mine.yaml                          simulate, print the summary\n"
      "  dooly run mine.yaml --out results            the same with summary.json and requests.csv\n"
      "  dooly run mine.yaml --set replicas=4         change any key on the way\n"
      "\n`dooly VERB --help` explains one verb, with examples. Exit status: 0 done, 1 a bug, 2 refused (bad\n"
      "usage or input, nothing was started), 3 could not finish, 4 judged and failed, 130 interrupted.\n"
      "Documentation: " +
      documentation("getting-started.md") + "\n";
  return text;
}

std::string command_help(const Command& command, const std::string& path, std::span<const OptionSpec> globals) {
  std::string text = path + ": " + command.purpose + "\n";
  if (!command.is_built) text += "Not built yet in this version.\n";
  if (!command.details.empty()) text += "\n" + command.details;
  text.append("\n").append(usage(command, path));
  if (!command.subcommands.empty()) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const Command& sub : command.subcommands) rows.emplace_back(sub.name, sub.purpose);
    text += "\nCommands:\n" + two_columns(rows);
  }
  if (!command.arguments.empty()) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const ArgumentSpec& argument : command.arguments)
      rows.emplace_back(argument.name, with_allowed(argument.help, argument.allowed));
    text += "\nArguments:\n" + two_columns(rows);
  }
  if (!command.options.empty()) text += "\nOptions:\n" + two_columns(option_rows(command.options));
  text += "\nGlobal options:\n" + two_columns(global_rows(globals));
  if (!command.examples.empty()) {
    text += "\nExamples:\n";
    for (const std::string& example : command.examples) text += "  " + example + "\n";
  }
  return text;
}

}  // namespace dooly::cli
