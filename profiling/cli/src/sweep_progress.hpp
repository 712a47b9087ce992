#pragma once

#include "profiling_sweep/sweep.hpp"
#include "terminal.hpp"

#include <chrono>

namespace dooly::profiling {

/// Shows on stderr how far a sweep is: a bar on a terminal, else a line every few seconds, or nothing if the user wants
/// quiet. Failed points are told as they come.
class SweepProgressLine final : public SweepObserver {
 public:
  explicit SweepProgressLine(const cli::Terminal& terminal);
  ~SweepProgressLine() override { clear(); }
  SweepProgressLine(const SweepProgressLine&) = delete;
  SweepProgressLine& operator=(const SweepProgressLine&) = delete;
  void progress(const SweepProgress& progress) override;
  void measured(const Operation& operation, const oracle::Sample& sample) override;
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  const cli::Terminal& terminal_;
  Clock::time_point next_;
  bool is_drawn_ = false;
};

}  // namespace dooly::profiling
