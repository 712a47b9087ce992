#include "validate/error_figures.hpp"
#include "validate/outcome.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace dooly::validate {
namespace {

using nlohmann::ordered_json;

ordered_json number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kSeconds: return "s";
    case Unit::kTokens: return "tokens";
    case Unit::kPerSecond: return "1/s";
    case Unit::kPlain: break;
  }
  return "1";
}

ordered_json series_json(const Series& series, bool with_pairs) {
  const ErrorFigures figures = error_figures(series);
  ordered_json errors;
  for (const std::string_view name : error_names())
    errors[std::string(name)] = number(error_named(figures, name).value());
  ordered_json out{{"name", series.name},
                   {"unit", unit_name(series.unit)},
                   {"pairs", figures.count},
                   {"measured_mean", number(figures.measured_mean)},
                   {"predicted_mean", number(figures.predicted_mean)},
                   {"errors", errors}};
  if (!with_pairs) return out;
  out["measured"] = series.measured;
  out["predicted"] = series.predicted;
  return out;
}

const char* verdict_name(Judgement::Verdict verdict) {
  switch (verdict) {
    case Judgement::Verdict::kMet: return "met";
    case Judgement::Verdict::kMissed: return "missed";
    case Judgement::Verdict::kNotJudged: break;
  }
  return "not judged";
}

ordered_json fit_json(const FitSource& source) {
  ordered_json out{{"measurement", source.written}, {"terms", source.terms}};
  if (source.first_requests) out["first_requests"] = *source.first_requests;
  return out;
}

}  // namespace

std::string outcome_json(const Outcome& outcome, bool with_pairs) {
  const Validation& validation = outcome.validation;
  ordered_json out{{"schema", 1},
                   {"name", validation.name},
                   {"measurement", {{"format", validation.format}, {"path", validation.measurement_written}}},
                   {"clock", validation.clock == Clock::kClient ? "client" : "engine"},
                   {"fit", ordered_json::array()}};
  for (const FitSource& source : validation.fit) out["fit"].push_back(fit_json(source));
  if (outcome.is_skipped()) {
    out["skipped"] = outcome.missing;
    return out.dump() + "\n";
  }
  out["series"] = out["tallies"] = out["bounds"] = ordered_json::array();
  for (const Series& series : outcome.comparison.series)
    if (!series.measured.empty()) out["series"].push_back(series_json(series, with_pairs));
  for (const Tally& tally : outcome.comparison.tallies)
    out["tallies"].push_back({{"name", tally.name},
                              {"compared", tally.compared},
                              {"different", tally.different},
                              {"first_difference", tally.first_difference}});
  out["notes"] = outcome.comparison.notes;
  for (const Judgement& each : outcome.judgements)
    out["bounds"].push_back({{"series", each.bound.series},
                             {"error", each.bound.error},
                             {"limit", each.bound.limit},
                             {"found", number(each.found)},
                             {"verdict", verdict_name(each.verdict)}});
  out["met"] = outcome.is_met();
  return out.dump() + "\n";
}

}  // namespace dooly::validate
