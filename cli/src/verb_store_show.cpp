#include "cli_error.hpp"
#include "collective_listing.hpp"
#include "named_stores.hpp"
#include "record_opener.hpp"
#include "stored_fits.hpp"
#include "text.hpp"
#include "verb_store.hpp"

#include "oracle_store/record.hpp"
#include "oracle_store/signature_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace dooly::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

const std::vector<std::string> kThings = {"environment", "operator", "plan", "collectives", "journal"};

std::string micros(double seconds) { return seconds == 0 ? "-" : fmt::format("{:.3f}", seconds * 1e6); }

std::string number_or_none(double value, const char* format) {
  return value == 0 ? "-" : fmt::format(fmt::runtime(format), value);
}

/// A record that a user asked for: of a kind, or of any; by the beginning of its name, or as the only one.
class Wanted {
 public:
  explicit Wanted(const std::vector<std::string>& words) {
    const bool has_kind = std::find(kThings.begin(), kThings.end(), words.front()) != kThings.end();
    if (words.size() > 1 && !has_kind)
      throw UsageError("dooly store show: " + refused_word("what to show", words.front(), kThings));
    if (has_kind) thing_ = words.front();
    name_ = fmt::format("{}", fmt::join(words.begin() + (has_kind ? 1 : 0), words.end(), " "));
  }
  const std::string& thing() const { return thing_; }
  bool is_all_collectives() const { return thing_ == "collectives" && name_.empty(); }
  bool is(const std::string& thing, const std::string& full) {
    if ((!thing_.empty() && thing_ != thing) || !full.starts_with(name_)) return false;
    const std::string found = thing + " " + full;
    if (found_.empty() || found_ == found) return found_ = found, true;
    if (found_ == thing + " " + name_) return false;  // the whole name, with which another begins
    throw UsageError((name_.empty() ? "it" : "'" + store::printable(name_) + "'") + " could be " +
                     store::printable(found_) + " or " + store::printable(found) + ": say more of its name");
  }
  void require(const std::string& store) const {
    if (!found_.empty()) return;
    throw UsageError(store + ": holds no " + (thing_.empty() ? "record" : thing_) +
                     (name_.empty() ? "" : " that begins with '" + store::printable(name_) + "'") +
                     "; dooly store ls lists what it holds");
  }

 private:
  std::string thing_, name_, found_;
};

std::string key_text(const store::KeyRecord& record) {
  return "operator " + record.signature.hex() + "\n" + store::title(record.key) + "\n" +
         oracle::canonical_json(record.key) + "\n";
}

std::string fit_text(const SeriesFit& fit) {
  if (!fit.trouble.empty()) return fmt::format("  fit: none ({})\n", fit.trouble);
  if (fit.fit.fold_error == 0) return fmt::format("  fit: {} points, too few for an error\n", fit.fit.points);
  return fmt::format("  fit: {} points, {:.1f} % mean error of points left out (k-fold)\n", fit.fit.points,
                     100 * fit.fit.fold_error);
}

/// Samples of one operator, a table per environment.
class SampleTables {
 public:
  /// `store`: the directory they are of; null: a file, which keeps no fits.
  explicit SampleTables(const store::SignatureStore* store) : store_(store) {}
  void key(const oracle::OperatorKey& key) { key_ = key; }
  void add(const store::SampleRecord& record, const oracle::Environment& environment) {
    if (record.environment_id != environment_id_) {
      flush();
      environment_id_ = record.environment_id;
      gpu_ = environment.gpu;
      text_ +=
          "\nenvironment " + environment_id_.substr(0, 12) + " (" + store::title(environment) + "), microseconds:\n";
      rows_ = {{"REGIME", "POINT", "STATUS", "MEDIAN", "MEAN", "STD", "MIN", "P10", "P90", "COUNT", "PROCESSES", "MHz",
                "W", "KERNELS", "NOTE"}};
    }
    const oracle::Sample& sample = record.sample;
    samples_.push_back(sample);
    rows_.push_back({std::string(store::regime_name(sample.regime)), store::point_text(sample.point),
                     std::string(store::status_name(sample.status)), micros(sample.median_s), micros(sample.mean_s),
                     micros(sample.std_s), micros(sample.min_s), micros(sample.p10_s), micros(sample.p90_s),
                     with_commas(sample.count), number_or_none(sample.processes, "{:.0f}"),
                     number_or_none(sample.sm_clock_mhz, "{:.0f}"), number_or_none(sample.power_w, "{:.0f}"),
                     store::printable(sample.kernel_family.empty() ? fmt::format("{}", fmt::join(sample.kernels, " "))
                                                                   : sample.kernel_family),
                     store::printable(sample.note)});
  }
  std::string text() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    if (!rows_.empty()) text_ += table(rows_, 2) + fit_text(fit_in(store_, environment_id_, key_, samples_, gpu_));
    rows_.clear();
    samples_.clear();
  }
  const store::SignatureStore* store_;
  oracle::OperatorKey key_;
  std::string environment_id_, gpu_, text_;
  std::vector<oracle::Sample> samples_;
  Rows rows_;
};

ExitCode show_records(const std::string& path, Wanted wanted, Terminal& terminal) {
  const auto records = opener_of(path)();
  std::optional<store::SignatureStore> directory;
  if (std::filesystem::is_directory(path))
    directory = store::SignatureStore::open(path, store::SignatureStore::Mode::kRead);
  std::map<std::string, oracle::Environment> environments;
  SampleTables tables(directory ? &*directory : nullptr);
  std::string text;  // printed once it is sure that nothing else was meant
  for (store::Record record; records->next(record);) {
    if (const auto* environment = std::get_if<store::EnvironmentRecord>(&record)) {
      environments.emplace(environment->id, environment->environment);
      if (wanted.is("environment", environment->id))
        text += "environment " + environment->id + "\n" +
                nlohmann::json::parse(oracle::canonical_json(environment->environment)).dump(2) + "\n";
    } else if (const auto* key = std::get_if<store::KeyRecord>(&record)) {
      if (wanted.is("operator", key->signature.hex())) {
        text += key_text(*key);
        tables.key(key->key);
      }
    } else if (const auto* sample = std::get_if<store::SampleRecord>(&record)) {
      if (wanted.is("operator", sample->signature.hex())) tables.add(*sample, environments[sample->environment_id]);
    } else if (const auto* plan = std::get_if<store::PlanRecord>(&record)) {
      if (wanted.is("plan", plan->name)) text += nlohmann::ordered_json::parse(plan->json).dump(2) + "\n";
    } else if (const auto* comm = std::get_if<store::CommRecord>(&record)) {
      if (wanted.is("collectives", comm->name)) text += nlohmann::ordered_json::parse(comm->json).dump(2) + "\n";
    }
  }
  wanted.require(path);
  terminal.print(text + tables.text());
  return ExitCode::kDone;
}

ExitCode show_collectives(const std::string& path, Terminal& terminal) {
  const auto records = opener_of(path)();
  std::optional<store::SignatureStore> directory;
  if (std::filesystem::is_directory(path))
    directory = store::SignatureStore::open(path, store::SignatureStore::Mode::kRead);
  CollectiveListing listing(directory ? &*directory : nullptr);
  for (store::Record record; records->next(record);) listing.take(record);
  if (listing.empty()) throw UsageError(path + ": holds no collectives; dooly store ls lists what it holds");
  terminal.print(listing.text());
  return ExitCode::kDone;
}

ExitCode show_journal(const std::string& path, Terminal& terminal) {
  if (!std::filesystem::is_directory(path)) throw UsageError(path + ": only a store directory has a journal");
  const auto opened = store::SignatureStore::open(path, store::SignatureStore::Mode::kRead);
  const std::vector<std::string> lines = opened.journal();
  for (const std::string& line : lines) terminal.print(line + "\n");
  if (lines.empty()) terminal.note(path + ": the journal has no entries (sweeps write them)");
  return ExitCode::kDone;
}

}  // namespace

Command store_show_command() {
  struct Arguments {
    std::string store;
    std::vector<std::string> words;
  };
  const auto arguments = std::make_shared<Arguments>();
  Command command{.name = "show", .purpose = "one environment, operator with its samples or plan, or the collectives"};
  command.details =
      "WHAT is environment, operator or plan and the beginning of a name or hash (none: the only one there is), or\n"
      "just the beginning; or journal. collectives: all that were measured or imported, by environment, with the "
      "least\n"
      "time, GB/s (the largest message / its time) and the mean error of sizes left out; collectives NAME: what\n"
      "links the GPUs.\n";
  command.arguments = {{"STORE", kStoreHelp, &arguments->store},
                       {"WHAT", "what to show: [KIND] [NAME]", &arguments->words}};
  command.examples = {"dooly store show h200-vllm operator 12677671", "dooly store show measured plan meta-llama",
                      "dooly store show measured journal"};
  command.action = [arguments](Terminal& terminal) {
    const Wanted wanted(arguments->words);
    if (wanted.is_all_collectives()) return show_collectives(arguments->store, terminal);
    return wanted.thing() == "journal" ? show_journal(arguments->store, terminal)
                                       : show_records(arguments->store, wanted, terminal);
  };
  return command;
}

}  // namespace dooly::cli
