#include "cli_error.hpp"
#include "listings.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include <memory>

namespace dooly::cli {
namespace {

struct ListArguments {
  std::string kind;
  std::optional<std::string> plugin;
};

ExitCode list(const ListArguments& arguments, Terminal& terminal) {
  for (const Listing& listing : listings()) {
    if (listing.kind != arguments.kind) continue;
    if (arguments.plugin && !listing.takes_plugin)
      throw UsageError("--plugin: plug-ins hold no " + listing.kind + "; allowed with: policies, routers, oracles");
    std::optional<std::filesystem::path> plugin;
    if (arguments.plugin) plugin = std::filesystem::absolute(*arguments.plugin);
    terminal.print(table(listing.rows(plugin)));
  }
  return ExitCode::kDone;
}

}  // namespace

Command list_command() {
  const auto arguments = std::make_shared<ListArguments>();
  Command command{.name = "list", .purpose = "what can be named in a scenario, a line each"};
  std::vector<std::string> kinds;
  command.details = "The first word of a line is what a scenario writes:\n";
  std::vector<std::vector<std::string>> rows;
  for (const Listing& listing : listings()) {
    kinds.push_back(listing.kind);
    rows.push_back({listing.kind, listing.purpose});
  }
  command.details += table(rows, 2);
  command.arguments = {{"KIND", "of what", &arguments->kind, std::move(kinds)}};
  command.options = {{"--plugin", "LIB.so", "what this plug-in library holds instead", &arguments->plugin}};
  command.examples = {"dooly list models", "dooly list policies --plugin ./build/libmine.so"};
  command.action = [arguments](Terminal& terminal) { return list(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
