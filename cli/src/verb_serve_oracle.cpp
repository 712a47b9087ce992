#include "asked_oracle.hpp"
#include "oracle_query.hpp"
#include "verbs.hpp"

#include <iostream>
#include <string>

namespace dooly::cli {
namespace {

ExitCode serve(const OracleArguments& arguments, Terminal& terminal) {
  const auto oracle = arguments.make(terminal);
  terminal.debug("the oracle is ready");
  std::string line;
  while (std::getline(std::cin, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    terminal.print(answer_query(*oracle, line) + "\n");
    terminal.flush();  // the other side may wait for this answer before it asks again
  }
  return ExitCode::kDone;
}

}  // namespace

Command serve_oracle_command() {
  const auto arguments = std::make_shared<OracleArguments>();
  Command command{.name = "serve-oracle", .purpose = "answers such questions as JSON lines"};
  command.details =
      "Reads a JSON object a line from stdin and answers one a line on stdout:\n"
      "  "
      "{\"id\":1,\"prefill\":[{\"query\":512,\"context\":0}],\"decode\":[{\"context\":1024,\"count\":32}],"
      "\"sustained\":0.0}\n"
      "Requests that hold the same KV blocks: \"shared\":[{\"tokens\":512,\"count\":8}], 512 tokens that 8 of them "
      "hold.\n"
      "A line that is wrong answers {\"id\":...,\"error\":...} and the loop goes on. Provenance is in shares.\n";
  command.options = arguments->options();
  command.examples = {"dooly serve-oracle --store h200 --plan plan.json < questions.jsonl"};
  command.action = [arguments](Terminal& terminal) { return serve(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
