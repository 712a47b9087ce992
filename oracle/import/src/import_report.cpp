#include "oracle_import/import_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dooly::import_ {

std::string ImportReport::text() const {
  std::string out = fmt::format("{}: {} files, {} rows -> {} samples of {} operators in {} environments, {} suspect\n",
                                format, files.size(), rows, samples, signatures, environments.size(), suspects);
  for (const auto& [kind, count] : kinds) out += fmt::format("  {:<24} {:>9} samples\n", kind, count);
  if (!findings.empty()) out += "Noticed:\n";
  for (const auto& [reason, finding] : findings) {
    out += fmt::format("  {} x {}{}\n", finding.count, reason, finding.dropped ? " (dropped)" : "");
    for (const std::string& example : finding.examples) out += "    " + example + "\n";
  }
  if (!notes.empty()) out += "Assumed:\n";
  for (const std::string& note : notes) out += "  " + note + "\n";
  if (!skipped.empty()) out += "Not taken:\n";
  for (const auto& [what, why] : skipped) out += fmt::format("  {}: {}\n", what, why);
  if (shared.empty()) return out;
  out += fmt::format("Operators that several models share: {}\n", shared.size());
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < shared.size() && i < kShown; ++i)
    out += fmt::format("  {}  {} samples: {}\n", shared[i].operation, shared[i].samples,
                       fmt::join(shared[i].models, ", "));
  if (shared.size() > kShown) out += fmt::format("  ... and {} more\n", shared.size() - kShown);
  return out;
}

}  // namespace dooly::import_
