#pragma once

#include <filesystem>

namespace dooly::profiling {

/// While it lives, no other process serves under this name; a stop signal then ends the process with the status of one.
class ClaimedName {
 public:
  /// `lock`: a file that is made for it. Throws UsageError if another has it, or it cannot be made.
  explicit ClaimedName(std::filesystem::path lock);
  ~ClaimedName();
  ClaimedName(const ClaimedName&) = delete;
  ClaimedName& operator=(const ClaimedName&) = delete;

 private:
  std::filesystem::path lock_;
  int file_ = -1;
};

}  // namespace dooly::profiling
