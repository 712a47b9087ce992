#include "named_stores.hpp"
#include "record_opener.hpp"
#include "text.hpp"
#include "verb_store.hpp"

#include "oracle_store/compare.hpp"
#include "oracle_store/kernel_remarks.hpp"
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
  const store::DiffCounts counts = store::diff(*left_records, *right_records, [&](const store::Difference& difference) {
    terminal.print(store::difference_text(difference) + "\n");
  });
  terminal.print(with_commas(counts.equal) + " records equal, " + with_commas(counts.only_left) + " only in " + left +
                 " (-), " + with_commas(counts.only_right) + " only in " + right + " (+), " +
                 with_commas(counts.differ) + " differ (~)\n");
  return judged && !counts.same() ? ExitCode::kJudgedBad : ExitCode::kDone;
}

// --- verify

struct Findings {
  std::vector<store::Damage> damages, remarks;
};

Findings findings_of(const std::filesystem::path& path) {
  Findings found;
  if (std::filesystem::is_directory(path)) {
    found.damages = store::SignatureStore::verify(path, &found.remarks);
    return found;
  }
  try {
    store::PortableReader reader(path);
    store::KernelRemarks remarks;
    for (store::Record record; reader.next(record);) remarks.take(record);
    for (auto& [series, what] : remarks.all()) found.remarks.push_back({"sample", series, what});
  } catch (const store::StoreDamaged& error) {
    found.damages.push_back({"file", path.string(), error.what()});
  }
  return found;
}

void print_some(const std::string& path, const std::vector<store::Damage>& damages, std::size_t most,
                Terminal& terminal) {
  for (std::size_t i = 0; i < std::min(damages.size(), most); ++i)
    terminal.print(path + ": " + damages[i].family + ": " + damages[i].record + ": " + damages[i].what + "\n");
  if (damages.size() > most) terminal.print(path + ": ... and " + with_commas(damages.size() - most) + " more\n");
}

ExitCode verify(const std::vector<std::string>& names, bool all_remarks, Terminal& terminal) {
  std::vector<std::filesystem::path> stores;
  for (const std::string& name : names)
    for (const std::filesystem::path& store : named_stores(name)) stores.push_back(store);
  ExitCode code = ExitCode::kDone;
  for (const std::filesystem::path& store : stores) {
    const std::string path = store.string();
    const auto [damages, remarks] = findings_of(store);
    print_some(path, damages, kShown, terminal);
    if (all_remarks) print_some(path, remarks, remarks.size(), terminal);
    std::string verdict = damages.empty() ? "sound" : "DAMAGED in " + with_commas(damages.size()) + " places";
    if (!remarks.empty())
      verdict +=
          "; " + with_commas(remarks.size()) + " remarks on kernels" + (all_remarks ? "" : " (--remarks lists them)");
    terminal.print(path + ": " + verdict + "\n");
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
  command.arguments = {{"LEFT", kStoreHelp, &arguments->left}, {"RIGHT", "another", &arguments->right}};
  command.options = {{"--exit-code", "", "exit status 4 if they differ", &arguments->judged}};
  command.examples = {"dooly store diff yesterday.jsonl.zst h200"};
  command.action = [arguments](Terminal& terminal) {
    return diff(arguments->left, arguments->right, arguments->judged, terminal);
  };
  return command;
}

Command store_verify_command() {
  struct Arguments {
    std::vector<std::string> paths;
    bool remarks = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  Command command{.name = "verify", .purpose = "reads everything and names what is damaged or inconsistent"};
  command.details =
      "Checks every record, every link between records, and the bytes of all files of a directory that its last "
      "writer\n"
      "closed. Exit status 4 if something is wrong.\n";
  command.arguments = {{"STORE", "directories, portable files, names of shipped ones", &arguments->paths}};
  command.options = {{"--remarks", "",
                      "also list operators whose kernels were of several families, or of another than their key names",
                      &arguments->remarks}};
  command.examples = {"dooly store verify h200 h200.jsonl.zst"};
  command.action = [arguments](Terminal& terminal) { return verify(arguments->paths, arguments->remarks, terminal); };
  return command;
}

}  // namespace dooly::cli
