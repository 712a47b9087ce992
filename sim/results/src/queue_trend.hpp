#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "exact_sum.hpp"

namespace dooly::results {

/// Mean queueing time along the arrivals, in bins that double in width as the run gets longer. Tells a queue that
/// grows all the time from one that comes and goes.
class QueueTrend {
 public:
  void add(double arrival_s, double queue_s) {
    while (arrival_s >= end_s_) [[unlikely]]
      fold();
    const auto bin = static_cast<std::size_t>(arrival_s * bins_per_s_);
    last_arrival_s_ = std::max(last_arrival_s_, arrival_s);
    counts_[bin] += 1;
    sums_[bin].add(queue_s);
  }

  /// The mean queueing time rises from quarter to quarter of the arrival span, that of the last is much above that of
  /// the second, and no trifle against the span: in an overload of 5 % it is 4 % of the span, 2.3 times that of the
  /// second. Few requests tell nothing.
  bool grows() const {
    const Quarter second = between(0.25, 0.5);
    const Quarter third = between(0.5, 0.75);
    const Quarter last = between(0.75, 1);
    if (std::min({second.count, third.count, last.count}) < 20) return false;
    return second.mean < third.mean && third.mean < last.mean && last.mean > 0.02 * last_arrival_s_ &&
           last.mean > 1.8 * second.mean;
  }

 private:
  static constexpr std::size_t kBins = 256;

  void fold() {
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      if (bin >= kBins / 2) {
        counts_[bin] = 0;
        sums_[bin] = {};
        continue;
      }
      counts_[bin] = counts_[2 * bin] + counts_[2 * bin + 1];
      ExactSum both = sums_[2 * bin];
      both.merge(sums_[2 * bin + 1]);
      sums_[bin] = both;
    }
    end_s_ *= 2;
    bins_per_s_ /= 2;
  }
  struct Quarter {
    std::uint64_t count;
    double mean;
  };
  Quarter between(double from_share, double to_share) const {
    const auto first = static_cast<std::size_t>(from_share * last_arrival_s_ * bins_per_s_);
    const auto last = std::min(static_cast<std::size_t>(to_share * last_arrival_s_ * bins_per_s_), kBins - 1);
    std::uint64_t count = 0;
    ExactSum sum;
    for (std::size_t bin = first; bin <= last; ++bin) count += counts_[bin], sum.merge(sums_[bin]);
    return {count, count == 0 ? 0 : sum.value() / static_cast<double>(count)};
  }

  double end_s_ = 1.0 / 16;  // powers of two: bin borders stay exact when folding
  double bins_per_s_ = kBins * 16;
  double last_arrival_s_ = 0;
  std::array<std::uint64_t, kBins> counts_{};
  std::array<ExactSum, kBins> sums_{};
};

}  // namespace dooly::results
