#pragma once

#include "terminal.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace dooly::cli {

/// How far a run is: one figure of it as text, with and without a bar.
struct ProgressFigures {
  std::uint64_t ended = 0;
  std::uint64_t expected = 0;  ///< requests in all; 0: not known
  double duration_s = 0;       ///< simulated time after which no request comes, if `expected` is 0; 0: not known
  double simulated_s = 0;
  double elapsed_s = 0;
};
std::string progress_line(const ProgressFigures& figures);
std::string progress_bar(const ProgressFigures& figures);

/// Shows on stderr how far a run is: a bar on a terminal, else a line every few seconds, or nothing if the user wants
/// quiet.
class Progress {
 public:
  /// `expected` and `duration_s` as in ProgressFigures.
  Progress(const Terminal& terminal, std::uint64_t expected, double duration_s);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Cheap; call it often.
  void update(std::uint64_t ended, double simulated_s);
  /// Removes the bar.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Style { kNone, kLines, kBar };
  Style style_;
  std::uint64_t expected_;
  double duration_s_;
  Clock::time_point start_;
  Clock::time_point next_;
  bool is_drawn_ = false;
};

}  // namespace dooly::cli
