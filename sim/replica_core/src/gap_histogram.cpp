#include "replica_core/gap_histogram.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::replica {

double GapHistogram::stddev() const {
  if (count_ == 0) return 0;
  const double n = static_cast<double>(count_);
  const double variance = squares_ / n - (sum_ / n) * (sum_ / n);
  return variance > 0 ? std::sqrt(variance) : 0;
}

double GapHistogram::quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double rank = quantile * static_cast<double>(count_ - 1);
  double below = static_cast<double>(zeros_);
  if (rank < below) return min_;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (buckets_[bucket] == 0) continue;
    below += static_cast<double>(buckets_[bucket]);
    if (rank >= below) continue;
    const double low = std::bit_cast<double>((bucket + kFirst) << kShift);
    const double high = std::bit_cast<double>((bucket + 1 + kFirst) << kShift);
    return std::clamp((low + high) / 2, min_, max_);
  }
  return max_;
}

void GapHistogram::merge(const GapHistogram& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size(), 0);
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  zeros_ += other.zeros_;
  sum_ += other.sum_;
  squares_ += other.squares_;
}

}  // namespace dooly::replica
