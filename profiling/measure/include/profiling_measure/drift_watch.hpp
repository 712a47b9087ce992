#pragma once

#include <string>

namespace dooly::profiling {

/// Compares a reference kernel's time with what it was at the beginning.
class DriftWatch {
 public:
  /// `tolerance`: relative; `every_s`: between two looks.
  DriftWatch(double tolerance, double every_s) : tolerance_(tolerance), every_s_(every_s) {}
  bool is_due(double now_s) const { return last_s_ < 0 || now_s - last_s_ >= every_s_; }
  /// Whether the time is that of the first call, which sets the mark.
  bool accept(double reference_s, double now_s);
  /// Empty while the last look was good; else by how much the reference is off.
  const std::string& suspicion() const { return suspicion_; }

 private:
  double tolerance_, every_s_;
  double mark_s_ = 0, last_s_ = -1;
  std::string suspicion_;
};

}  // namespace dooly::profiling
