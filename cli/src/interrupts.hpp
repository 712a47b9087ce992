#pragma once

#include <atomic>

namespace dooly::cli {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP only raises a flag; the second one ends the process. Signals
/// that the process was started to ignore stay ignored. One at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  const std::atomic<bool>& flag() const;
  /// Ends the process as the signal that raised the flag would have; nothing without one.
  void end_process() const;
};

}  // namespace dooly::cli
