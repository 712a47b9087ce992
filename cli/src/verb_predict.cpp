#include "asked_oracle.hpp"
#include "cli_error.hpp"
#include "cost_text.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include <charconv>

namespace dooly::cli {
namespace {

struct PredictArguments {
  OracleArguments oracle;
  std::vector<std::string> batches;
  std::optional<std::string> sustained, format;
  bool operators = false;
};

double share(const std::optional<std::string>& text) {
  if (!text) return 0;
  double value = -1;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || !(value >= 0 && value <= 1))
    throw UsageError("--sustained: must be a number from 0 (cool) to 1, got '" + *text + "'");
  return value;
}

ExitCode predict(const PredictArguments& arguments, Terminal& terminal) {
  if (arguments.batches.empty()) throw UsageError("--batch: needed, as in '2x512@0 + 32x1@1024'");
  if (arguments.sustained && arguments.oracle.is_roofline())
    throw UsageError("--sustained: --oracle roofline knows no clock");
  const double sustained = share(arguments.sustained);
  std::vector<BatchOnPaper> batches;
  for (const std::string& text : arguments.batches) batches.push_back(parse_batch(text));
  const auto oracle = arguments.oracle.make(terminal);
  const bool as_json = arguments.format == "json";
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const oracle::StepCost cost = oracle->cost(batches[i].batch(), {sustained});
    terminal.print(as_json ? cost_json(cost) + "\n" : (i > 0 ? "\n" : "") + cost_text(arguments.batches[i], cost));
  }
  if (arguments.operators && !as_json) terminal.print("\n" + operators_text(oracle->plan()));
  return ExitCode::kDone;
}

}  // namespace

Command predict_command() {
  const auto arguments = std::make_shared<PredictArguments>();
  Command command{.name = "predict", .purpose = "asks the latency oracle about a batch"};
  command.details =
      "Time of one iteration from measured operators, by part, with where each part came from and the error the "
      "oracle\n"
      "states. What no store answers is the roofline's, labelled so. '8 share 512' in a batch: 8 of its requests have "
      "512\n"
      "tokens of their contexts in the same KV blocks, which not each of them reads from memory.\n";
  command.options = arguments->oracle.options();
  command.options.push_back(
      {"--batch", "TEXT",
       "COUNTxQUERY@CONTEXT and COUNT share TOKENS terms: '2x512@0 + 32x1@1024 + 8 share 512'; may be given again",
       &arguments->batches});
  command.options.push_back(
      {"--sustained", "X", "clock: 0 cool (default), 1 sustained under the power cap", &arguments->sustained});
  command.options.push_back(
      {"--operators", "", "list who answers each operator, and how well it fits", &arguments->operators});
  command.options.push_back(
      {"--format", "FORMAT", "text or json (a line a batch)", &arguments->format, {"text", "json"}});
  command.examples = {"dooly predict --plan plan.json --store h200 --batch '2x512@0 + 32x1@1024'",
                      "dooly predict --plan plan.json --oracle roofline --gpu H100-SXM --batch 64x1@1024",
                      "dooly predict --plan plan.json --store h200.jsonl.zst --batch 256x1@1000 --operators"};
  command.action = [arguments](Terminal& terminal) { return predict(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
