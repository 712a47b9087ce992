#include "profiling_measure/drift_watch.hpp"

#include <fmt/format.h>

#include <cmath>

namespace dooly::profiling {

bool DriftWatch::accept(double reference_s, double now_s) {
  last_s_ = now_s;
  if (mark_s_ == 0) {
    mark_s_ = reference_s;
  }
  const double change = reference_s / mark_s_ - 1;
  suspicion_.clear();
  if (std::abs(change) > tolerance_) {
    suspicion_ = fmt::format("the reference kernel is {:+.1f} % off its first time", 100 * change);
  }
  return suspicion_.empty();
}

}  // namespace dooly::profiling
