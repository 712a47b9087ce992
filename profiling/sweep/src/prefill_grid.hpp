#pragma once

#include "attention_points.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace dooly::profiling {

/// Points of prefill chunks: one chunk of each query on each context, and several chunks of each query without context.
/// The production fit fills the nodes of these grids that nobody measured from their neighbours and makes the whole
/// monotone, so a gap would bend what was measured: the grids stay full and grow by whole lines.
class PrefillGrid {
 public:
  PrefillGrid(const oracle::AttentionRoofline& work, const SweepLimits& limits);
  /// Takes a measured point's coordinates into the grids, if they are among those that may be.
  void add(const oracle::SamplePoint& point);
  std::vector<oracle::SamplePoint> nodes() const;
  /// Error of left-out points, or less than 0 for one that cannot be left out.
  using ErrorAt = std::function<double(const oracle::SamplePoint&)>;
  /// Adds the line that promises most, between two where errors are large and that are far apart. False: none is left.
  bool add_line(const ErrorAt& error_at);

 private:
  struct Axis {
    std::size_t coordinate;  ///< of sample points
    std::set<std::uint64_t> taken, allowed;
  };
  bool fits(const oracle::SamplePoint& point) const;
  double mean_error(const Axis& axis, std::uint64_t low, std::uint64_t high, const ErrorAt& error_at) const;

  SweepLimits limits_;
  Axis chunks_, queries_, contexts_;
};

}  // namespace dooly::profiling
