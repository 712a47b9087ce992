#include "cli_error.hpp"
#include "commands.hpp"
#include "demands.hpp"
#include "files/whole_file.hpp"
#include "needs.hpp"
#include "quantities.hpp"
#include "removed_on_signal.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace dooly::profiling {
namespace {

using cli::ExitCode;
using cli::Terminal;

constexpr double kLeastCoverage = 0.98;

struct TraceArguments {
  std::string config;
  std::optional<std::string> backend, tp, dtype, device, kernels, block_size, layers, ablate, json;
  bool allow_low_coverage = false, every_layer = false;
};

TraceRequestOptions options_of(const TraceArguments& arguments) {
  TraceRequestOptions options;
  options.config = arguments.config;
  if (arguments.backend) options.backend = *arguments.backend;
  require_backend(options.backend);
  const auto number = [](const char* option, const std::optional<std::string>& text, std::uint32_t& value) {
    constexpr std::uint64_t kMost = 1024;
    if (text) value = static_cast<std::uint32_t>(whole(option, *text, 1, kMost));
  };
  number("--tp", arguments.tp, options.tensor_parallel);
  number("--block-size", arguments.block_size, options.block_size);
  number("--layers", arguments.layers, options.layers);
  options.dtype = arguments.dtype.value_or(options.dtype);
  options.device = arguments.device.value_or(options.device);
  if (arguments.kernels) options.kernels = kernel_folder(*arguments.kernels, options.device);
  options.every_layer = arguments.every_layer;
  if (arguments.ablate) options.ablation = *arguments.ablate == "config" ? Ablation::kConfig : Ablation::kRules;
  return options;
}

std::string list_text(const std::string& head, const std::vector<std::string>& lines) {
  constexpr std::size_t kShown = 20;
  std::string text = head;
  for (std::size_t i = 0; i < std::min(lines.size(), kShown); ++i) text += "\n  " + lines[i];
  if (lines.size() > kShown) text += fmt::format("\n  and {} more, see above", lines.size() - kShown);
  return text;
}

/// Says what is wrong; whether anything is.
bool is_bad(const TraceReport& report, bool allow_low_coverage, const Terminal& terminal) {
  const auto tell = [&](const std::vector<std::string>& lines, const char* what) {
    if (!lines.empty()) terminal.error(list_text(fmt::format("{} {}:", lines.size(), what), lines));
  };
  tell(report.unlabelled, "dimensions have no label");
  tell(report.contradictions, "contradictions between passes");
  tell(report.not_planned, "differences to the model's step plan");
  tell(report.forgotten, "arguments that operator keys lack");
  const bool is_low = report.coverage && *report.coverage < kLeastCoverage;
  if (is_low) {
    const std::string text = fmt::format("coverage is {:.1f} %, less than {:.0f} %; what is missing is listed above",
                                         100 * *report.coverage, 100 * kLeastCoverage);
    allow_low_coverage ? terminal.warning(text) : terminal.error(text + " (--allow-low-coverage lets it pass)");
  }
  return !report.is_proved() || (is_low && !allow_low_coverage);
}

/// A name that will not do is refused before the trace, which may take minutes.
TraceReport traced(const TraceArguments& arguments, const TraceRequestOptions& options, const TraceFunction& trace) {
  if (!arguments.json) return trace(options);
  files::WholeFile file(*arguments.json);
  const cli::RemovedOnSignal guard(file.temporary());
  TraceReport report = trace(options);
  file.write(report.json);
  file.finish();
  return report;
}

ExitCode run(const TraceArguments& arguments, const TraceFunction& trace, Terminal& terminal) {
  if (arguments.device == "cuda")
    need_gpu("run this on a machine with one, or take --device meta (shapes alone) or cpu");
  const TraceRequestOptions options = options_of(arguments);
  if (!trace) throw built_without_torch("it cannot trace");
  const TraceReport report = traced(arguments, options, trace);
  terminal.print(report.text);
  terminal.flush();
  return is_bad(report, arguments.allow_low_coverage, terminal) ? ExitCode::kJudgedBad : ExitCode::kDone;
}

}  // namespace

cli::Command trace_command(const TraceFunction& trace) {
  const auto arguments = std::make_shared<TraceArguments>();
  cli::Command command{.name = "trace", .purpose = "where each dimension of a model's step comes from"};
  command.details =
      "Runs a prefill, a decode and a mixed step of the model on dummy input, follows every dimension to its origin, "
      "and\n"
      "prints modules, operators with labelled dimensions, and the signatures that a store would be asked for. Checks\n"
      "that the three steps differ where the labels say so and nowhere else, that the operations are those of dooly "
      "plan,\n"
      "and, where kernels run (--device cpu, cuda), that operations with a signature cover 98 % of the time of each "
      "step.\n"
      "Exit status 4: a dimension has no label, or a check fails.\n";
  command.arguments = {
      {"CONFIG", "a shipped model (dooly list models), or a config.json or its folder", &arguments->config}};
  command.options = {
      {"--backend", "NAME", "attention back end: " + cli::listed(profile_backends()) + " (default fa3)",
       &arguments->backend},
      {"--tp", "SIZE", "tensor parallel size; one rank is traced (default 1)", &arguments->tp},
      {"--dtype", "TYPE", "of activations", &arguments->dtype, {"auto", "bfloat16", "float16", "float32"}},
      {"--device",
       "NAME",
       "meta (default): shapes alone, models of any size; cpu, cuda: kernels run and are timed",
       &arguments->device,
       {"meta", "cpu", "cuda"}},
      {"--kernels", "DIR", "folder of the engine's kernel libraries, on cuda (default: LibTorch's kernels)",
       &arguments->kernels},
      {"--block-size", "N", "tokens of a KV block (default 16)", &arguments->block_size},
      {"--layers", "N", "only the first N layers", &arguments->layers},
      {"--every-layer", "", "on cuda: run all layers (default: each distinct one once, which stands for those like it)",
       &arguments->every_layer},
      {"--ablate",
       "WHAT",
       "trace without labels on sizes of the model (config) or without mapping rules (rules), to see what they do",
       &arguments->ablate,
       {"config", "rules"}},
      {"--json", "FILE", "the whole trace", &arguments->json},
      {"--allow-low-coverage", "", "exit status 0 even if less than 98 % of the time is covered",
       &arguments->allow_low_coverage}};
  command.examples = {"dooly profile trace meta-llama/Llama-3.1-8B",
                      "dooly profile trace ./config.json --device cpu --layers 2 --json trace.json",
                      "dooly profile trace Qwen/Qwen3-30B-A3B --tp 2 --ablate rules"};
  command.action = [arguments, trace](Terminal& terminal) { return run(*arguments, trace, terminal); };
  return command;
}

}  // namespace dooly::profiling
