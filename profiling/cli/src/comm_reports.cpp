#include "comm_reports.hpp"

#include "cli_error.hpp"
#include "oracle_store/record.hpp"
#include "reports.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace dooly::profiling {
namespace {

using Unit = std::pair<std::string_view, std::uint64_t>;
constexpr std::array<Unit, 4> kUnits{
    {{"GiB", std::uint64_t{1} << 30}, {"MiB", std::uint64_t{1} << 20}, {"KiB", std::uint64_t{1} << 10}, {"B", 1}}};

constexpr std::uint64_t kLeast = 16, kMost = std::uint64_t{1} << 36;

std::uint64_t bytes_of(std::string_view option, const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (error == std::errc{})
    for (const auto& [name, bytes] : kUnits)
      if (unit == name && number <= kMost / bytes && number * bytes >= kLeast) return number * bytes;
  throw cli::UsageError(
      fmt::format("{}: must be a size from 16B to 64GiB with its unit (B, KiB, MiB, GiB), got '{}'", option, text));
}

std::string title_of(const Collective& collective) {
  return fmt::format("{} {} on {}", name_of(collective.kind), collective.dtype, collective.ranks);
}

std::string end_of(const CurveReport& curve) {
  if (!curve.given_up.empty()) return "given up: " + curve.given_up;
  if (curve.points == 0 && curve.failed == 0) return "there already";
  return curve.failed > 0 ? fmt::format("{} failed", curve.failed) : "";
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& [name, unit] : kUnits) {
    if (bytes < unit) continue;
    if (bytes % unit == 0) return fmt::format("{}{}", bytes / unit, name);
    return fmt::format("{:.3g}{}", static_cast<double>(bytes) / static_cast<double>(unit), name);
  }
  return "0B";
}

SizeLimits size_range(std::string_view option, const std::string& text) {
  const std::size_t dots = text.find("..");
  SizeLimits limits;
  limits.first = bytes_of(option, text.substr(0, dots));
  limits.last = dots == std::string::npos ? limits.first : bytes_of(option, text.substr(dots + 2));
  if (limits.first > limits.last)
    throw cli::UsageError(fmt::format("{}: the smaller size comes first, got '{}'", option, text));
  return limits;
}

std::string comm_text(const CommReport& report) {
  std::vector<std::vector<std::string>> rows{
      {"collective", "points", "left-out error", "smallest", "largest", "GB/s", ""}};
  for (const CurveReport& curve : report.curves) {
    const bool has_any = curve.largest_s > 0;
    rows.push_back(
        {title_of(curve.collective), std::to_string(curve.points_before + curve.points),
         fmt::format("{:.1f} %", 100 * curve.fold_error), has_any ? fmt::format("{:.1f} us", 1e6 * curve.least_s) : "-",
         has_any ? bytes_text(curve.largest_bytes) : "-",
         has_any ? fmt::format("{:.1f}", static_cast<double>(curve.largest_bytes) / curve.largest_s * 1e-9) : "-",
         end_of(curve)});
  }
  std::string text =
      cli::table(rows) + fmt::format("\n{} points measured, {} failed; {:.1f} s of each GPU in {}.\n", report.points,
                                     report.failed, report.device_s, clock_text(report.spent_s));
  if (report.end == CommReport::End::kBudget) text += "The budget is spent; the same command goes on.\n";
  if (report.end == CommReport::End::kInterrupted) text += "Interrupted; the same command goes on.\n";
  return text;
}

std::string comm_progress_text(const CommProgress& progress) {
  return fmt::format("{} of {} collectives, {} points, {} spent{}, {}", progress.finished, progress.curves,
                     progress.points, clock_text(progress.spent_s),
                     progress.left_s > 0 ? fmt::format(", {} left", clock_text(progress.left_s)) : "",
                     title_of(progress.collective));
}

void CommProgressLine::progress(const CommProgress& progress) {
  line_.show([&](bool) { return comm_progress_text(progress); });
}

void CommProgressLine::measured(const Collective& collective, LaunchMode mode, const oracle::Sample& sample) {
  if (sample.status == oracle::SampleStatus::kOk) return;
  clear();
  terminal_.warning(fmt::format("{}, {}, {}: {}, {}", title_of(collective), bytes_text(sample.point[0]),
                                mode == LaunchMode::kIsolated ? "isolated" : "back to back",
                                store::status_name(sample.status), sample.note));
}

}  // namespace dooly::profiling
