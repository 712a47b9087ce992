#pragma once

#include "profiling_sweep/sweep.hpp"
#include "status_line.hpp"

namespace dooly::profiling {

/// Shows on stderr how far a sweep is. Failed points are told as they come.
class SweepProgressLine final : public SweepObserver {
 public:
  explicit SweepProgressLine(const cli::Terminal& terminal) : terminal_(terminal), line_(terminal) {}
  void progress(const SweepProgress& progress) override;
  void measured(const Operation& operation, const oracle::Sample& sample) override;
  void clear() { line_.clear(); }

 private:
  const cli::Terminal& terminal_;
  StatusLine line_;
};

}  // namespace dooly::profiling
