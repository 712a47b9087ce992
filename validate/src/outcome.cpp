#include "validate/outcome.hpp"

#include "validate/error_figures.hpp"
#include "validate/measurement_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dooly::validate {
namespace {

std::string names_of(const Comparison& comparison) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const Series& series : comparison.series) add(series.name);
  for (const Tally& tally : comparison.tallies) add(tally.name);
  return names;
}

[[noreturn]] void refuse(const Bound& bound, const std::string& what) {
  throw ValidationError(fmt::format("{}: bounds.{}: {}", bound.where, bound.series, what));
}

struct Found {
  double error = 0;
  std::size_t pairs = 0;
};

/// The error that the bound limits; a difference count of tallies.
Found found_error(const Bound& bound, const Comparison& comparison) {
  for (const Tally& tally : comparison.tallies) {
    if (tally.name != bound.series) continue;
    if (bound.error != "differences") refuse(bound, "has only 'differences', got " + bound.error);
    return {static_cast<double>(tally.different), tally.compared};
  }
  for (const Series& series : comparison.series) {
    if (series.name != bound.series) continue;
    const auto error = error_named(error_figures(series), bound.error);
    if (!error) refuse(bound, "has no '" + bound.error + "'");
    return {*error, series.measured.size()};
  }
  refuse(bound, "nothing of that name was compared; there is " + names_of(comparison));
}

/// Not a number meets nothing.
Judgement::Verdict verdict(const Bound& bound, const Found& found) {
  if (found.pairs < bound.pairs) return Judgement::Verdict::kNotJudged;
  return std::abs(found.error) <= bound.limit ? Judgement::Verdict::kMet : Judgement::Verdict::kMissed;
}

}  // namespace

bool Outcome::is_met() const {
  return std::all_of(judgements.begin(), judgements.end(),
                     [](const Judgement& each) { return each.verdict != Judgement::Verdict::kMissed; });
}

std::vector<Judgement> judge(std::span<const Bound> bounds, const Comparison& comparison) {
  std::vector<Judgement> judgements;
  for (const Bound& bound : bounds) {
    const Found found = found_error(bound, comparison);
    judgements.push_back({bound, found.error, verdict(bound, found)});
  }
  return judgements;
}

Outcome run_validation(const Validation& validation, Workbench& workbench) {
  const MeasurementFormat* format = find_measurement_format(validation.format);
  if (format == nullptr) throw std::logic_error("a loaded validation names an unknown format");
  Outcome outcome{.validation = validation};
  try {
    outcome.comparison = format->compare(validation, workbench);
  } catch (const MissingData& missing) {
    outcome.missing = missing.what();
    return outcome;
  }
  outcome.judgements = judge(validation.bounds, outcome.comparison);
  return outcome;
}

}  // namespace dooly::validate
