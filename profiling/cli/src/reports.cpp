#include "reports.hpp"

#include "text.hpp"

#include "profiling_sweep/dense_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace dooly::profiling {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string percent(double share, int digits = 1) { return fmt::format("{:.{}f} %", 100 * share, digits); }

const std::string kLeftOut =
    "The left-out error is the mean over the points, which are where a curve bends; when an operator by rows is done "
    "is "
    "judged by what may still change between two of them.\n";

std::string end_text(const OperationReport& report) {
  if (!report.unsupported.empty()) return report.unsupported;
  if (!report.is_done) return "not finished";
  if (report.points == 0) return "there already";
  return "";
}

std::string failed_text(const OperationReport& report) {
  return report.failed > 0 ? fmt::format(" ({} failed)", report.failed) : "";
}

std::string saved_text(const SweepReport& report) {
  const double dense = report.dense_s();
  if (!(dense > 0)) return "";
  return fmt::format(
      "Of these signatures {} points for about {:.1f} s of device time; the dense grid has {} points for about {:.0f} "
      "s: "
      "{} saved.\n",
      report.own_points(), report.paid_s(), cli::with_commas(report.dense_points()), dense,
      percent(1 - report.paid_s() / dense));
}

std::string findings_text(const SweepReport& report) {
  std::string text;
  for (const OperationReport& each : report.operations)
    if (!each.finding.empty()) text += fmt::format("  {}: {}\n", short_title(each.operation.key), each.finding);
  return text.empty() ? text : "Kernels that are not of the family that their key names:\n" + text;
}

/// Curves bend, by a factor of two they do not.
std::string unsteady_text(const SweepReport& report) {
  const auto count = std::count_if(report.operations.begin(), report.operations.end(),
                                   [](const OperationReport& each) { return each.fold_error > 1; });
  if (count == 0) return "";
  return fmt::format(
      "{} signatures miss points left out by more than 100 %: no curve does that. Something else ran on this device; "
      "measure again while it is idle, into another store.\n",
      count);
}

std::string kept_text(SweepReport::End end) {
  switch (end) {
    case SweepReport::End::kDone: return "";
    case SweepReport::End::kBudget: return "The budget is spent; the same command goes on.\n";
    case SweepReport::End::kPoints: return "The number of points is reached; the same command goes on.\n";
    case SweepReport::End::kInterrupted: return "Interrupted; the same command goes on.\n";
  }
  return "";
}

}  // namespace

std::string short_title(const oracle::OperatorKey& key) {
  std::string text = fmt::format("{} {}", key.kind, fmt::join(key.dims, "x"));
  for (const char* name : {"window", "chunk"}) {
    const auto found = key.attributes.find(name);
    if (found == key.attributes.end()) continue;
    if (const auto* value = std::get_if<std::int64_t>(&found->second)) text += fmt::format(" {} {}", name, *value);
  }
  return text;
}

std::string clock_text(double seconds) {
  const auto s = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e9));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string reuse_text(const ReuseTable& table) {
  Rows rows{{"model", "back end", "tp", "signatures", "measured", "shared", "new"}};
  for (const ReuseTable::Row& row : table.rows)
    rows.push_back({row.model, row.backend, std::to_string(row.tensor_parallel), std::to_string(row.signatures),
                    std::to_string(row.measured), std::to_string(row.shared), std::to_string(row.fresh)});
  return cli::table(rows) +
         fmt::format(
             "\n{} signatures, {} of them unique: {} reused. {} unique ones are measured already, {} are to be.\n",
             table.signatures, table.unique, percent(table.reused()), table.measured, table.missing.size());
}

std::string unmeasurable_text(const std::vector<Unmeasurable>& operations) {
  if (operations.empty()) return "";
  std::string text = fmt::format("{} signatures have no kernels here and are not counted:\n", operations.size());
  for (const Unmeasurable& each : operations)
    text += fmt::format("  {} {}: {}\n", short_title(each.key), each.key.family, each.why);
  return text;
}

std::string points_text(const std::vector<Operation>& operations, const MeasuredPoints& points,
                        const SweepLimits& limits) {
  struct Sum {
    std::size_t signatures = 0, points = 0, dense = 0;
    void add(std::size_t own, std::size_t grid) { ++signatures, points += own, dense += grid; }
    std::vector<std::string> row(const std::string& name) const {
      const auto share = static_cast<double>(points) / static_cast<double>(dense);
      return {name, cli::with_commas(signatures), cli::with_commas(points), cli::with_commas(dense),
              percent(1 - share)};
    }
  };
  std::map<std::string, Sum> kinds;
  Sum all;
  for (const Operation& operation : operations) {
    const auto found = points.find(operation.signature);
    if (found == points.end()) continue;
    const std::size_t dense = dense_grid(operation, limits).size();
    kinds[operation.key.kind + " " + operation.key.family].add(found->second, dense);
    all.add(found->second, dense);
  }
  if (all.dense == 0) return "";
  Rows rows{{"measured already", "signatures", "points", "dense grid", "fewer"}};
  for (const auto& [kind, sum] : kinds) rows.push_back(sum.row(kind));
  rows.push_back(all.row("all"));
  return "\n" + cli::table(rows);
}

std::string sweep_text(const SweepReport& report, const SweepLimits& limits, bool is_dense) {
  Rows rows{{"signature", "family", "points", "left-out error", "seconds", ""}};
  for (const OperationReport& each : report.operations) {
    const bool was_measured = each.points + each.points_before + each.failed > 0;
    const bool is_computed = each.is_done || each.fold_error > 0;
    const bool has_error = was_measured && is_computed && !is_dense;
    rows.push_back({short_title(each.operation.key), each.operation.key.family,
                    std::to_string(each.points + each.points_before) + failed_text(each),
                    has_error ? percent(each.fold_error) : "-", fmt::format("{:.1f}", each.spent_s), end_text(each)});
  }
  std::string text = cli::table(rows);
  text += fmt::format(
      "\n{} points measured in {:.1f} s of device time, {} failed; up to {} tokens, {} sequences, {} tokens "
      "of context.\n",
      report.points, report.spent_s, report.failed, limits.max_batched_tokens, limits.max_sequences,
      limits.max_context);
  if (!is_dense) text += kLeftOut + saved_text(report) + unsteady_text(report);
  text += findings_text(report);
  return text + kept_text(report.end);
}

std::string held_out_text(const HeldOutReport& report, const std::string& store, const std::string& file) {
  return fmt::format(
             "{} held-out points measured in {:.1f} s of device time, {} failed; {} signatures have some in {}.\n"
             "Errors of the fit there: dooly profile score {} {}\n",
             report.points, report.spent_s, report.failed, report.signatures, file, store, file) +
         kept_text(report.end);
}

std::string progress_text(const SweepProgress& progress, bool with_bar) {
  constexpr std::size_t kCells = 16;
  std::string text;
  const double all = progress.spent_s + progress.left_s;
  if (with_bar) {
    const auto full = all > 0 ? static_cast<std::size_t>(progress.spent_s / all * kCells) : 0;
    text = fmt::format("[{}{}] ", std::string(full, '='), std::string(kCells - full, ' '));
  }
  text += fmt::format("{} of {} signatures, {} points, {} measured", progress.finished, progress.operations,
                      progress.points, clock_text(progress.spent_s));
  if (progress.points > 0 && progress.left_s > 0) text += fmt::format(", {} left", clock_text(progress.left_s));
  if (progress.operation != nullptr) text += ", " + short_title(progress.operation->key);
  return text;
}

}  // namespace dooly::profiling
