#include "cli_error.hpp"
#include "store_change.hpp"
#include "stored_fits.hpp"
#include "text.hpp"
#include "verb_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace dooly::cli {
namespace {

/// How many series miss their own points by more than what sweeps aim at by default.
std::string errors_text(std::vector<double> errors) {
  constexpr double kUsualTarget = 0.03;
  if (errors.empty()) return "";
  std::sort(errors.begin(), errors.end());
  const auto over = errors.end() - std::upper_bound(errors.begin(), errors.end(), kUsualTarget);
  return fmt::format("; {} of {} miss a point left out by more than {:.0f} % on average (median of all {:.1f} %)", over,
                     errors.size(), 100 * kUsualTarget, 100 * errors[errors.size() / 2]);
}

ExitCode fit(const std::string& path, Terminal& terminal) {
  if (!std::filesystem::exists(path)) throw UsageError(path + ": no such store");
  if (is_portable(path))
    throw UsageError(path + ": a portable file keeps no fits; dooly store import makes a directory");
  auto opened = store::SignatureStore::open(path, store::SignatureStore::Mode::kWrite);
  const FitCounts counts = store_fits(opened);
  opened.close();
  terminal.note(path + ": " + with_commas(counts.made) + " fits computed, " + with_commas(counts.kept) +
                " were up to date" +
                (counts.none > 0 ? ", " + with_commas(counts.none) + " series cannot be fitted" : "") +
                errors_text(counts.errors));
  return ExitCode::kDone;
}

}  // namespace

Command store_fit_command() {
  const auto store = std::make_shared<std::string>();
  Command command{.name = "fit", .purpose = "keeps with each operator how well its samples predict each other"};
  command.details =
      "The mean error of samples left out (k-fold) is stored beside the samples; dooly store show prints it. Series\n"
      "whose samples or regressors have changed since are computed again, others are left. Points are measured where\n"
      "a curve bends, so this mean is not what predictions are off by: dooly profile score tells that.\n";
  command.arguments = {{"STORE", "a directory", store.get()}};
  command.examples = {"dooly store fit h200"};
  command.action = [store](Terminal& terminal) { return fit(*store, terminal); };
  return command;
}

}  // namespace dooly::cli
