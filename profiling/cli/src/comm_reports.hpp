#pragma once

#include "profiling_comm/comm_sweep.hpp"
#include "status_line.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dooly::profiling {

/// "256B", "64KiB", "1.5MiB": exact where possible, else three digits.
std::string bytes_text(std::uint64_t bytes);
/// "256B..1GiB" -> smallest and largest message. Throws cli::UsageError that names the option.
SizeLimits size_range(std::string_view option, const std::string& text);

/// Per collective: points, left-out error, latency and bandwidth; then sums.
std::string comm_text(const CommReport& report);
/// "3 of 5 collectives, 120 points, 0:12 spent, 0:08 left, all_gather bfloat16 on 2".
std::string comm_progress_text(const CommProgress& progress);

/// Shows on stderr how far a sweep of collectives is; failed points are told as they come.
class CommProgressLine final : public CommObserver {
 public:
  explicit CommProgressLine(const cli::Terminal& terminal) : terminal_(terminal), line_(terminal) {}
  void progress(const CommProgress& progress) override;
  void measured(const Collective& collective, LaunchMode mode, const oracle::Sample& sample) override;
  void clear() { line_.clear(); }

 private:
  const cli::Terminal& terminal_;
  StatusLine line_;
};

}  // namespace dooly::profiling
