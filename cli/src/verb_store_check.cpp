#include "cli_error.hpp"
#include "store_change.hpp"
#include "text.hpp"
#include "verb_store.hpp"

#include "oracle_store/compare.hpp"
#include "oracle_store/portable_file.hpp"
#include "oracle_store/signature_store.hpp"

#include <algorithm>
#include <memory>

namespace dooly::cli {
namespace {

constexpr std::size_t kShown = 1000;  // damaged records of one store

// --- diff

ExitCode diff(const std::string& left, const std::string& right, bool judged, Terminal& terminal) {
  const auto left_records = opener_of(left)(), right_records = opener_of(right)();
  const store::DiffCounts counts =
      store::diff(*left_records, *right_records, [&](const store::Difference& difference) {
        terminal.print(store::difference_text(difference) + "\n");
      });
  terminal.print(with_commas(counts.equal) + " records equal, " + with_commas(counts.only_left) + " only in " + left +
                 " (-), " + with_commas(counts.only_right) + " only in " + right + " (+), " +
                 with_commas(counts.differ) + " differ (~)\n");
  return judged && !counts.same() ? ExitCode::kJudgedBad : ExitCode::kDone;
}

// --- verify

std::vector<store::Damage> damages_of(const std::string& path) {
  if (!std::filesystem::exists(path)) throw UsageError(path + ": no such store or file");
  if (std::filesystem::is_directory(path)) return store::SignatureStore::verify(path);
  try {
    store::PortableReader reader(path);
    for (store::Record record; reader.next(record);) continue;
  } catch (const store::StoreDamaged& error) {
    return {{"file", path, error.what()}};
  }
  return {};
}

ExitCode verify(const std::vector<std::string>& paths, Terminal& terminal) {
  ExitCode code = ExitCode::kDone;
  for (const std::string& path : paths) {
    const std::vector<store::Damage> damages = damages_of(path);
    for (std::size_t i = 0; i < std::min(damages.size(), kShown); ++i)
      terminal.print(path + ": " + damages[i].family + ": " + damages[i].record + ": " + damages[i].what + "\n");
    if (damages.size() > kShown)
      terminal.print(path + ": ... and " + with_commas(damages.size() - kShown) + " more\n");
    terminal.print(path + ": " + (damages.empty() ? "sound" : with_commas(damages.size()) + " places are damaged") +
                   "\n");
    if (!damages.empty()) code = ExitCode::kJudgedBad;
  }
  return code;
}

}  // namespace

Command store_diff_command() {
  struct Arguments {
    std::string left, right;
    bool judged = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  Command command{.name = "diff", .purpose = "what two stores hold differently"};
  command.arguments = {{"LEFT", "a directory or a portable file", &arguments->left},
                       {"RIGHT", "another", &arguments->right}};
  command.options = {{"--exit-code", "", "exit status 4 if they differ", &arguments->judged}};
  command.examples = {"dooly store diff yesterday.jsonl.zst h200"};
  command.action = [arguments](Terminal& terminal) {
    return diff(arguments->left, arguments->right, arguments->judged, terminal);
  };
  return command;
}

Command store_verify_command() {
  const auto paths = std::make_shared<std::vector<std::string>>();
  Command command{.name = "verify", .purpose = "reads everything and names what is damaged or inconsistent"};
  command.details =
      "Checks every record and every link between records; that samples of one operator ran one kernel family; and\n"
      "the bytes of all files of a directory that its last writer closed. Exit status 4 if something is wrong.\n";
  command.arguments = {{"STORE", "directories and portable files", paths.get()}};
  command.examples = {"dooly store verify h200 h200.jsonl.zst"};
  command.action = [paths](Terminal& terminal) { return verify(*paths, terminal); };
  return command;
}

}  // namespace dooly::cli
