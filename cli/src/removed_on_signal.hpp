#pragma once

#include <filesystem>
#include <string>

namespace dooly::cli {

/// While it lives, SIGINT, SIGTERM and SIGHUP remove a temporary file and then end the process as they would have
/// without it. Signals that the process was started to ignore stay ignored. One at a time, and not beside Interrupts.
/// Create it when the file is this process's own, so that no other writer's is removed.
class RemovedOnSignal {
 public:
  explicit RemovedOnSignal(const std::filesystem::path& file);
  ~RemovedOnSignal();
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;

 private:
  std::string file_;
};

}  // namespace dooly::cli
