#include "validate/error_figures.hpp"
#include "validate/outcome.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace dooly::validate {
namespace {

std::string percent(double share) { return std::isnan(share) ? "-" : fmt::format("{:+.1f}%", 100 * share); }

std::string quantity(double value, Unit unit) {
  if (std::isnan(value)) return "-";
  switch (unit) {
    case Unit::kSeconds:
      if (std::abs(value) >= 1) return fmt::format("{:.3f} s", value);
      if (std::abs(value) >= 1e-3) return fmt::format("{:.2f} ms", value * 1e3);
      return fmt::format("{:.1f} us", value * 1e6);
    case Unit::kPerSecond: return fmt::format("{:.2f}/s", value);
    case Unit::kTokens:
    case Unit::kPlain: break;
  }
  return fmt::format("{:.6g}", value);
}

std::string row(const Series& series) {
  const ErrorFigures figures = error_figures(series);
  return fmt::format("  {:<24}{:>8}{:>12}{:>12}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", series.name, figures.count,
                     quantity(figures.measured_mean, series.unit), quantity(figures.predicted_mean, series.unit),
                     percent(figures.mean), percent(figures.p50), percent(figures.p90), percent(figures.p99),
                     std::isnan(figures.mape) ? "-" : fmt::format("{:.1f}%", 100 * figures.mape),
                     percent(figures.median));
}

std::string series_table(const Comparison& comparison) {
  std::string text;
  for (const Series& series : comparison.series)
    if (!series.measured.empty()) text += row(series);
  if (text.empty()) return text;
  return fmt::format("  {:<24}{:>8}{:>12}{:>12}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "", "pairs", "measured", "predicted",
                     "mean", "p50", "p90", "p99", "MAPE", "median") +
         text;
}

std::string tally_lines(const Comparison& comparison) {
  std::string text;
  for (const Tally& tally : comparison.tallies)
    text += fmt::format("  {:<24}{:>8} compared, {} different{}{}\n", tally.name, tally.compared, tally.different,
                        tally.first_difference.empty() ? "" : ", first in ", tally.first_difference);
  return text;
}

std::string verdict_text(const Judgement& judgement) {
  switch (judgement.verdict) {
    case Judgement::Verdict::kMet: return "met";
    case Judgement::Verdict::kMissed: return "MISSED";
    case Judgement::Verdict::kNotJudged: break;
  }
  return fmt::format("not judged: fewer than {} pairs", judgement.bound.pairs);
}

std::string judgement_line(const Judgement& judgement) {
  const Bound& bound = judgement.bound;
  const bool is_count = bound.error == "differences";
  const std::string limit = is_count ? fmt::format("{:.0f}", bound.limit) : fmt::format("{:.6g}%", 100 * bound.limit);
  const std::string found = is_count ? fmt::format("{:.0f}", judgement.found) : percent(judgement.found);
  return fmt::format("  bound {} {} within {}: {} {}\n", bound.series, bound.error, limit, found,
                     verdict_text(judgement));
}

}  // namespace

std::string outcome_text(const Outcome& outcome) {
  const Validation& validation = outcome.validation;
  std::string text =
      fmt::format("{}: {} {}\n", validation.file.string(), validation.format, validation.measurement.string());
  if (outcome.is_skipped()) return text + "  skipped: " + outcome.missing + "\n";
  text += series_table(outcome.comparison) + tally_lines(outcome.comparison);
  for (const std::string& note : outcome.comparison.notes) text += "  note: " + note + "\n";
  for (const Judgement& judgement : outcome.judgements) text += judgement_line(judgement);
  return text;
}

}  // namespace dooly::validate
