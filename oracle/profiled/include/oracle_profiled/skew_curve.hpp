#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dooly::oracle {

/// What unequal contexts cost a batch of decodes: slope(sequences) × coefficient of variation of the contexts × the
/// time of as many equal decodes. The slope is fitted by least squares at every number of sequences that was measured
/// with two context lengths, is linear between them and constant beyond. A kernel splits few sequences, or many,
/// differently, so the slope need not be monotone.
class SkewCurve {
 public:
  struct Point {
    double decodes = 0;
    double cv = 0;      ///< coefficient of variation of the contexts
    double excess = 0;  ///< relative to the time of equal decodes
  };
  /// Numbers of sequences with fewer than two points are passed over. Slopes are never negative.
  void fit(const std::vector<Point>& points, std::uint32_t max_decodes);
  bool empty() const { return slopes_.empty(); }
  double slope(double decodes) const {
    if (slopes_.empty()) return 0;
    return slopes_[std::min(static_cast<std::size_t>(decodes), slopes_.size() - 1)];
  }

 private:
  std::vector<double> slopes_;  // by sequences
};

}  // namespace dooly::oracle
