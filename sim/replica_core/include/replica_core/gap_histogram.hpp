#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace dooly::replica {

/// Weighted histogram of positive times with a relative error of at most 0.1 %: buckets are the top bits of the IEEE
/// representation (2^-9 wide, answered at their middle). Zero and negative times count as zero.
class GapHistogram {
 public:
  void add(double seconds, std::uint64_t weight) {
    if (weight == 0) return;
    const double w = static_cast<double>(weight);
    count_ += weight;
    sum_ += seconds * w;
    squares_ += seconds * seconds * w;
    if (seconds < min_ || count_ == weight) min_ = seconds;
    if (seconds > max_ || count_ == weight) max_ = seconds;
    if (seconds <= kSmallest) {
      zeros_ += weight;
      return;
    }
    const std::uint64_t bucket = (std::bit_cast<std::uint64_t>(seconds) >> kShift) - kFirst;
    if (bucket >= buckets_.size()) buckets_.resize(bucket + 1, 0);
    buckets_[bucket] += weight;
  }

  std::uint64_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double stddev() const;  ///< of the population
  double min() const { return min_; }
  double max() const { return max_; }
  /// Value below which the share `quantile` (0..1) of the weight lies; min and max are exact.
  double quantile(double quantile) const;
  void merge(const GapHistogram& other);

 private:
  static constexpr double kSmallest = 1e-9;
  static constexpr int kShift = 52 - 9;
  static constexpr std::uint64_t kFirst = 0x3E112E0BE826D694ULL >> kShift;  // bits of 1e-9
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t zeros_ = 0;
  double sum_ = 0, squares_ = 0, min_ = 0, max_ = 0;
};

}  // namespace dooly::replica
