#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "results/decision_log.hpp"
#include "results/iteration_log.hpp"
#include "results/output_directory.hpp"
#include "results/requests_csv.hpp"
#include "results/summary.hpp"
#include "results/timing.hpp"

namespace dooly::results {

/// Which files a run writes beside summary.json and timing.json.
struct OutputFiles {
  bool requests_csv = true;
  bool iterations_csv = false;
  bool decisions_jsonl = false;
};

/// The files of one run: claims the directory before the run, hands out the sinks, publishes everything at the end.
/// Without a directory it has no sinks and publishes nothing.
class RunOutput {
 public:
  /// Throws NameRefused if the directory cannot be used (see OutputDirectory) or a file cannot be opened.
  RunOutput(const std::optional<std::filesystem::path>& directory, bool force, OutputFiles files, RowNames names,
            const std::vector<std::string>& pools);

  RequestsCsv* requests() { return requests_.get(); }       ///< null: not wanted
  IterationLog* iterations() { return iterations_.get(); }  ///< null: not wanted
  DecisionLog* decisions() { return decisions_.get(); }     ///< null: not wanted

  /// Something could not be written, so the run may as well stop. Cheap; to be asked now and then.
  bool failed() const;

  /// Writes summary.json and timing.json and gives all files their names, marked where `summary` says why the run is
  /// partial. A file that could not be completed is dropped, the results are marked as partial for that reason (also in
  /// `summary`), and WriteFailed is thrown at the end.
  /// `timing`: asked for when all but timing.json is written, so that it can hold what that took.
  void publish(Summary& summary, const std::function<Timing()>& timing);
  Published published() const { return directory_ ? directory_->published() : Published::kNothing; }

 private:
  void complete_sinks(std::string& failure);
  std::optional<OutputDirectory> directory_;
  std::unique_ptr<RequestsCsv> requests_;
  std::unique_ptr<IterationLog> iterations_;
  std::unique_ptr<DecisionLog> decisions_;
};

}  // namespace dooly::results
