#include "cli_error.hpp"
#include "interrupts.hpp"
#include "new_file.hpp"
#include "verbs.hpp"

#include "files/whole_file.hpp"
#include "validate/interruption.hpp"
#include "validate/outcome.hpp"
#include "validate/sensitivity.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

struct ValidateArguments {
  std::vector<std::string> files;
  std::optional<std::string> out, format;
  bool force = false, pairs = false;
  bool sensitivity = false;
};

/// All files are read and checked before anything is run.
std::vector<validate::Validation> load_all(const std::vector<std::string>& files) {
  std::vector<validate::Validation> loaded;
  std::set<std::string> names;
  std::string problems;
  for (const std::string& file : files) {
    try {
      loaded.push_back(validate::load_validation(file));
      if (!names.insert(loaded.back().name).second)
        throw validate::ValidationError(file + ": another file has the same name, so their results would meet");
    } catch (const validate::ValidationError& error) {
      problems += (problems.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!problems.empty()) throw UsageError(problems);
  return loaded;
}

constexpr const char* kFigures = ".json";
constexpr const char* kPlots = ".svg";

/// As `dooly run`: results that are there stay, unless told otherwise.
void refuse_to_replace(const std::vector<validate::Validation>& validations, const fs::path& directory) {
  for (const validate::Validation& validation : validations)
    for (const char* ending : {kFigures, kPlots})
      if (fs::exists(directory / (validation.name + ending)))
        throw UsageError(fmt::format("{}: holds results of an earlier run ({}{}); --force replaces them",
                                     directory.string(), validation.name, ending));
}

void write_outcome(const validate::Outcome& outcome, const fs::path& directory) {
  const std::string& name = outcome.validation.name;
  files::write_whole_file(directory / (name + kFigures), outcome_json(outcome, true));
  if (!outcome.is_skipped()) return files::write_whole_file(directory / (name + kPlots), outcome_svg(outcome));
  std::error_code ignored;
  fs::remove(directory / (name + kPlots), ignored);  // of an earlier run
}

/// Figures of all validations so far.
struct Score {
  std::size_t met = 0, missed = 0, skipped = 0;

  void count(const validate::Outcome& outcome) { ++(outcome.is_skipped() ? skipped : outcome.is_met() ? met : missed); }
  ExitCode exit_code() const {
    if (missed > 0) return ExitCode::kJudgedBad;
    return met > 0 ? ExitCode::kDone : ExitCode::kRefused;
  }
};

validate::Outcome run_one(const validate::Validation& validation, validate::Workbench& workbench) {
  try {
    return run_validation(validation, workbench);
  } catch (const validate::ValidationError& error) {
    throw UsageError(error.what());
  } catch (const validate::SimulationBrokeOff& error) {
    throw CannotFinish(validation.file.string() + ": " + error.what());
  }
}

constexpr double kSensitivityChange = 0.05;

ExitCode show_sensitivity(const ValidateArguments& arguments, Terminal& terminal) {
  if (arguments.out || arguments.format == "json" || arguments.pairs)
    throw UsageError("--sensitivity: prints one table; --out, --pairs and --format json do not go with it");
  validate::Workbench workbench([&](const std::string& line) { terminal.note(line); });
  for (const validate::Validation& validation : load_all(arguments.files)) {
    try {
      terminal.print(sensitivity_text(validation, sensitivity(validation, workbench, kSensitivityChange)));
    } catch (const validate::ValidationError& error) {
      throw UsageError(error.what());
    } catch (const validate::MissingData& error) {
      throw UsageError(error.what());
    } catch (const validate::SimulationBrokeOff& error) {
      throw CannotFinish(validation.file.string() + ": " + error.what());
    }
  }
  return ExitCode::kDone;
}

ExitCode judge_all(const ValidateArguments& arguments, Terminal& terminal) {
  const std::vector<validate::Validation> validations = load_all(arguments.files);
  std::optional<DirectoryForFiles> out;
  if (arguments.out) {  // before anything runs
    out.emplace(*arguments.out);
    if (!arguments.force) refuse_to_replace(validations, *arguments.out);
  }
  const bool as_json = arguments.format == "json";
  validate::Workbench workbench([&](const std::string& line) { terminal.note(line); });
  Score score;
  for (const validate::Validation& validation : validations) {
    validate::stop_if_interrupted();
    const validate::Outcome outcome = run_one(validation, workbench);
    score.count(outcome);
    if (arguments.out) write_outcome(outcome, *arguments.out);
    terminal.print(as_json ? outcome_json(outcome, arguments.pairs) : outcome_text(outcome));
    terminal.flush();
    if (outcome.is_skipped() && validations.size() == 1) terminal.error(outcome.missing);
  }
  if (!as_json && validations.size() > 1)
    terminal.print(
        fmt::format("{} within bounds, {} out of bounds, {} skipped\n", score.met, score.missed, score.skipped));
  return score.exit_code();
}

ExitCode run(const ValidateArguments& arguments, Terminal& terminal) {
  const Interrupts interrupts;
  validate::watch_interrupts(&interrupts.flag());
  try {
    return arguments.sensitivity ? show_sensitivity(arguments, terminal) : judge_all(arguments, terminal);
  } catch (const validate::Interrupted&) {
    terminal.flush();
    terminal.error("interrupted; the validations printed before this line are complete, the others were not judged");
    return ExitCode::kInterrupted;
  }
}

}  // namespace

Command validate_command() {
  const auto arguments = std::make_shared<ValidateArguments>();
  Command command{.name = "validate", .purpose = "runs scenarios against measurements"};
  command.details =
      "Holds predictions against what was measured and prints, for every quantity, the error of the mean, of p50, p90\n"
      "and p99, and the mean and median error of single pairs. Exit status 4 when a bound of a file is missed; 2 when\n"
      "none of the files could be judged because their data are not there.\n";
  command.arguments = {{"FILE.yaml", "what to compare, and within which bounds", &arguments->files}};
  command.options = {{"--out", "DIR", "writes NAME.json (with all pairs) and NAME.svg of every file", &arguments->out},
                     {"--force", "", "replace results that are there already", &arguments->force},
                     {"--format", "FORMAT", "text or json (a line a file)", &arguments->format, {"text", "json"}},
                     {"--pairs", "", "with --format json: every measured and predicted value", &arguments->pairs},
                     {"--sensitivity", "", "predicts again with each term 5 % smaller and larger; judges nothing",
                      &arguments->sensitivity}};
  command.examples = {"dooly validate validate/*.yaml --out results"};
  command.action = [arguments](Terminal& terminal) { return run(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
