#include "new_file.hpp"
#include "verbs.hpp"

#include "files/whole_file.hpp"
#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "scenarios/load.hpp"
#include "scenarios/write.hpp"
#include "sim/deployment.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace dooly::cli {
namespace {

struct InitArguments {
  std::optional<std::string> from, out;
  bool force = false;
};

std::optional<std::uint64_t> longest_context(const std::string& model) {
  try {
    return oracle::find_model(model).max_position;
  } catch (const oracle::OracleError&) {
    return {};  // told with the other errors of the scenario
  }
}

std::string translated(const std::string& vllm_command) {
  try {
    return scenario::init_from_vllm(vllm_command, sim::known_names(), longest_context);
  } catch (const scenario::ScenarioError& error) {
    std::vector<std::string> messages = error.messages();
    for (std::string& message : messages) message.insert(0, "--from: ");
    throw scenario::ScenarioError(std::move(messages));
  }
}

ExitCode init(const InitArguments& arguments, Terminal& terminal) {
  const std::string text = arguments.from ? translated(*arguments.from) : scenario::init_template();
  if (arguments.out) {
    refuse_taken(*arguments.out, arguments.force);
    files::write_whole_file(*arguments.out, text);
    terminal.note("wrote " + *arguments.out + "; next: dooly run " + *arguments.out);
  } else {
    terminal.print(text);
  }
  return ExitCode::kDone;
}

}  // namespace

Command init_command() {
  const auto arguments = std::make_shared<InitArguments>();
  Command command{.name = "init", .purpose = "writes a commented scenario to start from"};
  command.options = {
      {"--from", "COMMAND", "translate a command line: \"vllm serve MODEL --flags...\"", &arguments->from},
      {"--out", "FILE", "write there instead of to stdout", &arguments->out},
      {"--force", "", "replace a file that is there already", &arguments->force}};
  command.examples = {"dooly init > mine.yaml",
                      "dooly init --from \"vllm serve meta-llama/Llama-3.1-8B --max-num-seqs 256\" --out mine.yaml"};
  command.action = [arguments](Terminal& terminal) { return init(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
