#pragma once

#include "terminal.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace dooly::profiling {

/// One changing line on stderr: drawn over and over on a terminal, else a line every few seconds, or nothing if the
/// user wants quiet.
class StatusLine {
 public:
  explicit StatusLine(const cli::Terminal& terminal);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  /// `text` is asked if it is time to show something; whether with a bar.
  void show(const std::function<std::string(bool with_bar)>& text);
  /// Takes it off a terminal, so that something else can be written.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  const cli::Terminal& terminal_;
  Clock::time_point next_;
  bool is_drawn_ = false;
};

}  // namespace dooly::profiling
