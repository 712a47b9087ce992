#pragma once

#include "oracle/sample.hpp"
#include "profiling_sweep/refiner.hpp"

#include <algorithm>
#include <vector>

namespace dooly::profiling {

inline bool is_usable(const oracle::Sample& sample) {
  return sample.status == oracle::SampleStatus::kOk && sample.median_s > 0;
}

/// What cannot be measured, from the samples that failed.
class Failures {
 public:
  explicit Failures(const std::vector<oracle::Sample>& samples) {
    for (const oracle::Sample& sample : samples)
      if (!is_usable(sample)) failed_.push_back(&sample);
  }
  std::size_t count() const { return failed_.size(); }
  /// The point itself failed, or one that is not larger in any respect did so by its size.
  bool blocks(const oracle::SamplePoint& point) const {
    return std::any_of(failed_.begin(), failed_.end(), [&](const oracle::Sample* failed) {
      if (failed->point == point) return true;
      if (failed->status == oracle::SampleStatus::kSuspect || failed->status == oracle::SampleStatus::kUnsupported)
        return false;
      for (std::size_t i = 0; i < point.size(); ++i)
        if (point[i] < failed->point[i]) return false;
      return true;
    });
  }

 private:
  std::vector<const oracle::Sample*> failed_;
};

/// So many failures and nothing that worked: the operator does not run here.
inline constexpr std::size_t kHopeless = 3;

}  // namespace dooly::profiling
