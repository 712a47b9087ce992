#include "named_stores.hpp"
#include "record_opener.hpp"
#include "text.hpp"
#include "verb_store.hpp"

#include "oracle_store/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>

namespace dooly::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string short_id(const std::string& id) { return id.substr(0, 12); }

/// Samples of one operator in one environment.
struct Series {
  std::uint64_t samples = 0, failures = 0;
  std::set<std::string> regimes;
  oracle::SamplePoint first{}, last{};
  double fastest_s = std::numeric_limits<double>::infinity(), slowest_s = 0;

  void add(const oracle::Sample& sample) {
    if (samples++ == 0) first = sample.point;
    first = std::min(first, sample.point);
    last = std::max(last, sample.point);
    regimes.insert(std::string(store::regime_name(sample.regime)));
    if (sample.status != oracle::SampleStatus::kOk && sample.status != oracle::SampleStatus::kSuspect) {
      ++failures;
      return;
    }
    fastest_s = std::min(fastest_s, sample.median_s);
    slowest_s = std::max(slowest_s, sample.median_s);
  }
};

/// A store without its samples.
struct Contents {
  std::map<std::string, oracle::Environment> environments;
  std::map<oracle::Signature, oracle::OperatorKey> keys;
  std::map<std::pair<std::string, oracle::Signature>, Series> series;
  std::map<std::string, std::string> plans, comms;
  std::uint64_t samples = 0;
  std::map<std::string, std::uint64_t> by_status;
};

Contents contents_of(const std::string& path) {
  Contents all;
  const auto records = opener_of(path)();
  for (store::Record record; records->next(record);) {
    if (const auto* environment = std::get_if<store::EnvironmentRecord>(&record)) {
      all.environments.emplace(environment->id, environment->environment);
    } else if (const auto* key = std::get_if<store::KeyRecord>(&record)) {
      all.keys.emplace(key->signature, key->key);
    } else if (const auto* sample = std::get_if<store::SampleRecord>(&record)) {
      all.series[{sample->environment_id, sample->signature}].add(sample->sample);
      ++all.samples;
      ++all.by_status[std::string(store::status_name(sample->sample.status))];
    } else if (const auto* plan = std::get_if<store::PlanRecord>(&record)) {
      all.plans.emplace(plan->name, plan->json);
    } else {
      const auto& comm = std::get<store::CommRecord>(record);
      all.comms.emplace(comm.name, comm.json);
    }
  }
  return all;
}

std::string micros(double seconds) { return fmt::format("{:.3f}", seconds * 1e6); }

// --- ls

Rows environment_rows(const Contents& all) {
  Rows rows = {{"ENVIRONMENT", "OPERATORS", "SAMPLES", "WHAT"}};
  for (const auto& [id, environment] : all.environments) {
    std::uint64_t operators = 0, samples = 0;
    for (const auto& [of, series] : all.series) {
      if (of.first != id) continue;
      ++operators;
      samples += series.samples;
    }
    rows.push_back({short_id(id), with_commas(operators), with_commas(samples), store::title(environment)});
  }
  return rows;
}

Rows operator_rows(const Contents& all) {
  Rows rows = {{"OPERATOR", "ENVIRONMENT", "SAMPLES", "POINTS", "MEDIAN us", "REGIMES", "WHAT"}};
  for (const auto& [of, series] : all.series) {
    const auto key = all.keys.find(of.second);
    const bool any = series.samples > series.failures;
    rows.push_back({short_id(of.second.hex()), short_id(of.first), with_commas(series.samples),
                    store::point_text(series.first) + ".." + store::point_text(series.last),
                    any ? micros(series.fastest_s) + ".." + micros(series.slowest_s) : "-",
                    fmt::format("{}", fmt::join(series.regimes, ",")),
                    key != all.keys.end() ? store::title(key->second) : "not known"});
  }
  return rows;
}

ExitCode list(const std::string& path, bool operators, Terminal& terminal) {
  const Contents all = contents_of(path);
  terminal.print(table(operators ? operator_rows(all) : environment_rows(all)));
  if (operators) return ExitCode::kDone;
  for (const auto& [name, json] : all.plans) terminal.print("plan " + store::printable(name) + "\n");
  for (const auto& [name, json] : all.comms) terminal.print("collectives " + store::printable(name) + "\n");
  return ExitCode::kDone;
}

// --- stat

std::uintmax_t size_of(const std::filesystem::path& store) {
  if (!std::filesystem::is_directory(store)) return std::filesystem::file_size(store);
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(store))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

ExitCode statistics(const std::string& path, Terminal& terminal) {
  const Contents all = contents_of(path);
  std::uintmax_t bytes = 0;
  for (const std::filesystem::path& store : named_stores(path)) bytes += size_of(store);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kinds;  // operators and samples
  for (const auto& [of, series] : all.series) {
    auto& [operators, samples] = kinds[all.keys.contains(of.second) ? all.keys.at(of.second).kind : "not known"];
    ++operators;
    samples += series.samples;
  }
  Rows rows = {{"environments", with_commas(all.environments.size())},
               {"operators", with_commas(all.keys.size())},
               {"series", with_commas(all.series.size())},
               {"samples", with_commas(all.samples)}};
  for (const auto& [status, count] : all.by_status) rows.push_back({"  " + status, with_commas(count)});
  rows.push_back({"plans", with_commas(all.plans.size())});
  rows.push_back({"collective tables", with_commas(all.comms.size())});
  rows.push_back({"bytes on disk", with_commas(bytes)});
  terminal.print(table(rows));
  if (kinds.empty()) return ExitCode::kDone;
  Rows by_kind = {{"KIND", "SERIES", "SAMPLES"}};
  for (const auto& [kind, counts] : kinds)
    by_kind.push_back({store::printable(kind), with_commas(counts.first), with_commas(counts.second)});
  terminal.print("\n" + table(by_kind));
  return ExitCode::kDone;
}

}  // namespace

Command store_ls_command() {
  struct Arguments {
    std::string store;
    bool operators = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  Command command{.name = "ls", .purpose = "what a store holds: environments and plans, or operators"};
  command.arguments = {{"STORE", kStoreHelp, &arguments->store}};
  command.options = {{"--operators", "", "a line per operator and environment", &arguments->operators}};
  command.examples = {"dooly store ls h200", "dooly store ls h200.jsonl.zst --operators | grep attention"};
  command.action = [arguments](Terminal& terminal) { return list(arguments->store, arguments->operators, terminal); };
  return command;
}

Command store_stat_command() {
  const auto path = std::make_shared<std::string>();
  Command command{.name = "stat", .purpose = "counts and sizes"};
  command.arguments = {{"STORE", kStoreHelp, path.get()}};
  command.action = [path](Terminal& terminal) { return statistics(*path, terminal); };
  return command;
}

}  // namespace dooly::cli
