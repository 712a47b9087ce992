#include "verbs.hpp"

#include "schedulers/plugin_template.hpp"

#include <filesystem>
#include <memory>

namespace dooly::cli {
namespace {

struct NewArguments {
  std::string name;
  std::optional<std::string> out;
};

using WriteTemplate = std::vector<std::filesystem::path> (*)(std::string_view name, const std::filesystem::path&);

ExitCode write_new(WriteTemplate write, const NewArguments& arguments, Terminal& terminal) {
  const std::filesystem::path directory = arguments.out.value_or(arguments.name);
  for (const std::filesystem::path& file : write(arguments.name, directory)) terminal.print(file.string() + "\n");
  terminal.flush();
  terminal.note("next: cmake -S " + directory.string() + " -B " + (directory / "build").string() +
                " -DCMAKE_PREFIX_PATH=PREFIX_OF_DOOLY, then build it; see " + (directory / "README.md").string());
  return ExitCode::kDone;
}

Command plugin_command(std::string name, const std::string& what, std::string example, WriteTemplate write) {
  const auto arguments = std::make_shared<NewArguments>();
  Command command{.name = std::move(name), .purpose = what + " as a plug-in of its own, with a test, ready to build"};
  command.arguments = {
      {"NAME", "what scenarios will call it: lower-case letters, digits, '-' and '_'", &arguments->name}};
  command.options = {{"--out", "DIR", "the new directory, default ./NAME", &arguments->out}};
  command.examples = {std::move(example)};
  command.action = [arguments, write](Terminal& terminal) { return write_new(write, *arguments, terminal); };
  return command;
}

}  // namespace

Command new_command() {
  Command command{.name = "new", .purpose = "starts a plug-in: a scheduling policy or a router"};
  command.subcommands = {
      plugin_command("policy", "a scheduling policy", "dooly new policy shortest-first",
                     schedulers::write_policy_template),
      plugin_command("router", "a router", "dooly new router fewest-first", schedulers::write_router_template)};
  return command;
}

}  // namespace dooly::cli
