#include "archives.hpp"
#include "cli_error.hpp"
#include "commands.hpp"
#include "named_stores.hpp"
#include "text.hpp"

#include "oracle/kernel_families.hpp"
#include "oracle_profiled/fit_figures.hpp"
#include "oracle_store/record.hpp"
#include "profiling_measure/statistics.hpp"
#include "profiling_sweep/signature_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <variant>

namespace dooly::profiling {
namespace {

using cli::ExitCode;
using cli::Terminal;
using cli::UsageError;
using oracle::ClockRegime;

/// Usable samples at the cool clock, of one environment: that of each operator names its kernel libraries beside what
/// all have in common; collectives have one of their own.
struct Measured {
  std::map<oracle::Signature, oracle::SampleSet> sets;
  std::map<bool, oracle::Environment> environments;  ///< what is common, by whether it is of collectives
  std::map<oracle::Signature, std::string> ids;      ///< of the environment of each operator

  void add(const oracle::Environment& environment, const std::string& name) {
    const auto common = oracle::common_environment(environment);
    const auto [there, is_new] = environments.try_emplace(!environment.topology.empty(), common);
    if (!is_new && there->second != common) refuse(name);
  }
  void add(const store::SampleRecord& record, const std::string& name) {
    const auto [there, is_new] = ids.try_emplace(record.signature, record.environment_id);
    if (!is_new && there->second != record.environment_id) refuse(name);
    const oracle::Sample& taken = record.sample;
    if (taken.status == oracle::SampleStatus::kOk && taken.regime != ClockRegime::kSustained)
      sets[record.signature].samples.push_back(taken);
  }

 private:
  [[noreturn]] static void refuse(const std::string& name) {
    throw UsageError(name + ": holds several environments, must be measurements of one");
  }
};

Measured read(const std::string& name) {
  Measured found;
  const auto records = cli::named_records(name, open_records);
  for (store::Record record; records->next(record);) {
    if (const auto* environment = std::get_if<store::EnvironmentRecord>(&record)) {
      found.add(environment->environment, name);
    } else if (const auto* key = std::get_if<store::KeyRecord>(&record)) {
      found.sets[key->signature] = {key->key, key->signature, {}};
    } else if (const auto* sample = std::get_if<store::SampleRecord>(&record)) {
      found.add(*sample, name);
    }
  }
  if (found.environments.empty()) throw UsageError(name + ": holds no measurements");
  return found;
}

/// Of each operator that both have.
bool are_of_one_environment(const Measured& left, const Measured& right) {
  return std::all_of(left.ids.begin(), left.ids.end(), [&](const auto& each) {
    const auto other = right.ids.find(each.first);
    return other == right.ids.end() || each.second == other->second;
  });
}

/// Which part of attention a point measures; other kinds have one part.
std::string part_of_point(const oracle::OperatorKey& key, const oracle::SamplePoint& point) {
  if (oracle::binding_of(key) != oracle::Binding::kAttention) return key.kind;
  constexpr std::size_t kChunks = 0, kDecodes = 3, kLong = 5;
  if (point[kChunks] > 0) return key.kind + (point[kDecodes] > 0 ? ", mixed" : ", prefill");
  return key.kind + (point[kLong] > 0 ? ", ragged decodes" : ", decodes");
}

/// |predicted / measured - 1| of the held-out samples, by kind.
using Errors = std::map<std::string, std::vector<double>>;

Errors errors_of(const Measured& fitted, const Measured& held_out, std::size_t& unknown, std::size_t& known_points) {
  const SweepDevice device = device_of(held_out.environments.begin()->second);
  Errors errors;
  for (const auto& [signature, asked] : held_out.sets) {
    const auto there = fitted.sets.find(signature);
    if (there == fitted.sets.end() || there->second.samples.empty()) {
      unknown += asked.samples.size();
      continue;
    }
    const std::vector<oracle::Sample>& basis = there->second.samples;
    const SignatureFit fit(operation_of(asked.key, oracle::binding_of(asked.key)), basis, device.gpu);
    for (const oracle::Sample& sample : asked.samples) {
      const bool is_in_basis = std::any_of(basis.begin(), basis.end(),
                                           [&](const oracle::Sample& each) { return each.point == sample.point; });
      if (is_in_basis) {
        ++known_points;
        continue;
      }
      errors[part_of_point(asked.key, sample.point)].push_back(
          std::abs(fit.seconds(sample.point) / sample.median_s - 1));
    }
  }
  return errors;
}

std::vector<std::string> row_of(const std::string& name, std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  return {name,          std::to_string(errors.size()),    percent(percentile(errors, 0.5)),
          percent(mean), percent(percentile(errors, 0.9)), percent(errors.back())};
}

/// A point that was measured: environment, operator, clock and size.
using Identity = std::tuple<std::string, oracle::Signature, ClockRegime, oracle::SamplePoint>;

/// Of all sets together.
struct Scored {
  Errors errors;
  std::size_t unknown = 0, known_points = 0, repeated = 0;
  std::map<Identity, std::string> held_out;  ///< points and the set they first came in
};

/// Takes each point once, whatever name its set has; refuses a set of which all points are in others.
void leave_out_repeated(Measured& held_out, const std::string& path, Scored& scored) {
  std::size_t kept = 0, repeated = 0;
  std::string other;
  for (auto& [signature, set] : held_out.sets) {
    std::erase_if(set.samples, [&, &at = signature](const oracle::Sample& sample) {
      const auto [there, is_new] =
          scored.held_out.try_emplace(Identity{held_out.ids.at(at), at, sample.regime, sample.point}, path);
      ++(is_new ? kept : repeated);
      if (!is_new) other = there->second;
      return !is_new;
    });
  }
  if (kept == 0 && repeated > 0)
    throw UsageError(path + ": its points are all in " + other + " too: they would count twice");
  scored.repeated += repeated;
}

/// Refuses a set that tells nothing.
void add_set(const Measured& fitted, const std::string& fitted_path, const std::string& held_out_path, Scored& scored,
             Terminal& terminal) {
  Measured held_out = read(held_out_path);
  leave_out_repeated(held_out, held_out_path, scored);
  if (!are_of_one_environment(fitted, held_out))
    terminal.warning(held_out_path + " was measured in another environment than " + fitted_path);
  std::size_t known_points = 0;
  const Errors errors = errors_of(fitted, held_out, scored.unknown, known_points);
  if (errors.empty() && known_points > 0)
    throw UsageError(fmt::format(
        "{}: its {} points of operators that {} has are all in there, so the fit was made of them and tells "
        "no error; points are measured apart by dooly profile model --held-out N",
        held_out_path, known_points, fitted_path));
  if (errors.empty()) throw UsageError(held_out_path + ": holds no point of an operator that " + fitted_path + " has");
  scored.known_points += known_points;
  for (const auto& [name, each] : errors)
    scored.errors[name].insert(scored.errors[name].end(), each.begin(), each.end());
}

ExitCode score(const std::string& fitted_path, const std::vector<std::string>& held_out_paths, Terminal& terminal) {
  const Measured fitted = read(fitted_path);
  Scored scored;
  for (const std::string& path : held_out_paths) add_set(fitted, fitted_path, path, scored, terminal);
  std::vector<std::vector<std::string>> rows = {{"held-out points of", "points", "median", "mean", "p90", "largest"}};
  std::vector<double> all;
  for (const auto& [name, each] : scored.errors) {
    rows.push_back(row_of(name, each));
    all.insert(all.end(), each.begin(), each.end());
  }
  rows.push_back(row_of("all", std::move(all)));
  terminal.print(cli::table(rows, 2));
  if (scored.unknown > 0)
    terminal.print(fmt::format("{} points of operators that are not there were left out\n", scored.unknown));
  if (scored.known_points > 0)
    terminal.print(fmt::format("{} points that the fit was made of were left out\n", scored.known_points));
  if (scored.repeated > 0)
    terminal.print(fmt::format("{} points that an earlier HELD_OUT has too were left out\n", scored.repeated));
  return ExitCode::kDone;
}

}  // namespace

cli::Command score_command() {
  struct Arguments {
    std::string fitted;
    std::vector<std::string> held_out;
  };
  const auto arguments = std::make_shared<Arguments>();
  cli::Command command{.name = "score", .purpose = "errors of a fit at points that it was not made of"};
  command.details =
      "Fits the samples of STORE as a simulation would and asks for every sample of HELD_OUT (both at the cool "
      "clock). Points of several HELD_OUT count together, each once.\n";
  command.arguments = {{"STORE", cli::kStoreHelp, &arguments->fitted},
                       {"HELD_OUT", "others, of the same environment", &arguments->held_out}};
  command.examples = {"dooly profile score h200 held-out.jsonl.zst",
                      "dooly profile score h200 held-out-1.jsonl.zst held-out-2.jsonl.zst"};
  command.action = [arguments](Terminal& terminal) { return score(arguments->fitted, arguments->held_out, terminal); };
  return command;
}

}  // namespace dooly::profiling
