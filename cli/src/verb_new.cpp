#include "verbs.hpp"

#include "schedulers/policy_template.hpp"

#include <filesystem>
#include <memory>

namespace dooly::cli {
namespace {

struct NewArguments {
  std::string name;
  std::optional<std::string> out;
};

ExitCode new_policy(const NewArguments& arguments, Terminal& terminal) {
  const std::filesystem::path directory = arguments.out.value_or(arguments.name);
  for (const std::filesystem::path& file : schedulers::write_policy_template(arguments.name, directory))
    terminal.print(file.string() + "\n");
  terminal.flush();
  terminal.note("next: cmake -S " + directory.string() + " -B " + (directory / "build").string() +
                " -DCMAKE_PREFIX_PATH=PREFIX_OF_DOOLY, then build it; see " + (directory / "README.md").string());
  return ExitCode::kDone;
}

}  // namespace

Command new_command() {
  const auto arguments = std::make_shared<NewArguments>();
  Command policy{.name = "policy",
                 .purpose = "a scheduling policy as a plug-in of its own, with a test, ready to build"};
  policy.arguments = {
      {"NAME", "what scenarios will call it: lower-case letters, digits, '-' and '_'", &arguments->name}};
  policy.options = {{"--out", "DIR", "the new directory, default ./NAME", &arguments->out}};
  policy.examples = {"dooly new policy shortest-first"};
  policy.action = [arguments](Terminal& terminal) { return new_policy(*arguments, terminal); };
  Command command{.name = "new", .purpose = "starts a plug-in: a scheduling policy"};
  command.subcommands = {policy};
  return command;
}

}  // namespace dooly::cli
