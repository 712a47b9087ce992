#include "results/run_output.hpp"

#include <utility>

#include "results/errors.hpp"
#include "results/summary_json.hpp"

namespace dooly::results {
namespace {

constexpr const char* kRequests = "requests.csv";
constexpr const char* kIterations = "iterations.csv";
constexpr const char* kDecisions = "decisions.jsonl";

}  // namespace

RunOutput::RunOutput(const std::optional<std::filesystem::path>& directory, bool force, OutputFiles files,
                     RowNames names, const std::vector<std::string>& pools) {
  if (!directory) return;
  directory_.emplace(OutputDirectory::claim(*directory, force));
  try {
    const auto path = [&](const char* name) { return directory_->temporary(name); };
    if (files.requests_csv) requests_ = std::make_unique<RequestsCsv>(path(kRequests), std::move(names));
    if (files.iterations_csv) iterations_ = std::make_unique<IterationLog>(path(kIterations), pools);
    if (files.decisions_jsonl) decisions_ = std::make_unique<DecisionLog>(path(kDecisions), pools);
  } catch (const WriteFailed& error) {
    throw NameRefused(error.what());  // nothing was started yet
  }
}

bool RunOutput::failed() const {
  return (requests_ && requests_->sink().failed()) || (iterations_ && iterations_->sink().failed()) ||
         (decisions_ && decisions_->sink().failed());
}

void RunOutput::complete_sinks(std::string& failure) {
  const auto complete = [&](auto& file, const char* name) {
    if (!file) return;
    try {
      file->sink().finish();
    } catch (const WriteFailed& error) {
      if (failure.empty()) failure = error.what();
      directory_->discard(name);  // frees the room that the summary needs
    }
    file.reset();
  };
  complete(requests_, kRequests);
  complete(iterations_, kIterations);
  complete(decisions_, kDecisions);
}

void RunOutput::publish(Summary& summary, const std::function<Timing()>& timing) {
  if (!directory_) return;
  std::string failure;
  complete_sinks(failure);
  if (!failure.empty()) {
    // the mark is a result and must not name a path of this machine
    const std::string what = "a result file could not be written";
    summary.run.partial = summary.run.partial ? *summary.run.partial + "; " + what : what;
  }
  directory_->write("summary.json", summary_json(summary));
  directory_->write("timing.json", timing_json(timing()));
  directory_->publish(summary.run.partial.value_or(std::string{}));
  if (!failure.empty()) throw WriteFailed(failure);
}

}  // namespace dooly::results
