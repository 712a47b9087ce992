#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace dooly::cli {

/// Splits the time since its making into named stages.
class Stopwatch {
 public:
  /// Everything since the last lap belongs to `stage`; a stage may come several times.
  void lap(const std::string& stage) {
    const Clock::time_point now = Clock::now();
    const double time_s = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    for (auto& [name, sum_s] : stages_s_) {
      if (name == stage) {
        sum_s += time_s;
        return;
      }
    }
    stages_s_.emplace_back(stage, time_s);
  }
  double total_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  const std::vector<std::pair<std::string, double>>& stages_s() const { return stages_s_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  std::vector<std::pair<std::string, double>> stages_s_;
};

}  // namespace dooly::cli
