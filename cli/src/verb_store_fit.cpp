#include "cli_error.hpp"
#include "store_change.hpp"
#include "stored_fits.hpp"
#include "text.hpp"
#include "verb_store.hpp"

#include <memory>

namespace dooly::cli {
namespace {

ExitCode fit(const std::string& path, Terminal& terminal) {
  if (!std::filesystem::exists(path)) throw UsageError(path + ": no such store");
  if (is_portable(path))
    throw UsageError(path + ": a portable file keeps no fits; dooly store import makes a directory");
  auto opened = store::SignatureStore::open(path, store::SignatureStore::Mode::kWrite);
  const FitCounts counts = store_fits(opened);
  opened.close();
  terminal.note(path + ": " + with_commas(counts.made) + " fits computed, " + with_commas(counts.kept) +
                " were up to date" +
                (counts.none > 0 ? ", " + with_commas(counts.none) + " series cannot be fitted" : ""));
  return ExitCode::kDone;
}

}  // namespace

Command store_fit_command() {
  const auto store = std::make_shared<std::string>();
  Command command{.name = "fit", .purpose = "keeps with each operator how well its samples predict each other"};
  command.details =
      "The mean error of samples left out (k-fold) is stored beside the samples; dooly store show prints it. Series\n"
      "whose samples or regressors have changed since are computed again, others are left.\n";
  command.arguments = {{"STORE", "a directory", store.get()}};
  command.examples = {"dooly store fit h200"};
  command.action = [store](Terminal& terminal) { return fit(*store, terminal); };
  return command;
}

}  // namespace dooly::cli
