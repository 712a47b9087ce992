#include "cli_error.hpp"
#include "verbs.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "results/errors.hpp"
#include "scenarios/load.hpp"
#include "scenarios/write.hpp"
#include "sim/deployment.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

namespace dooly::cli {
namespace {

struct InitArguments {
  std::optional<std::string> from, out;
  bool force = false;
};

void write_new_file(const std::filesystem::path& path, const std::string& text, bool force) {
  std::error_code ignored;
  if (!force && std::filesystem::exists(path, ignored))
    throw UsageError(path.string() + ": exists already; --force replaces it");
  std::ofstream file(path, std::ios::binary);
  if (!file) throw UsageError(path.string() + ": cannot be written: " + std::strerror(errno));
  file << text;
  file.close();
  if (!file) throw results::WriteFailed(path.string() + ": cannot write: " + std::strerror(errno));
}

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
    write_new_file(*arguments.out, text, arguments.force);
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
