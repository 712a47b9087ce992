#pragma once

#include <algorithm>
#include <cstdint>

namespace dooly::oracle {

/// Where a predicted time comes from, from the best to the worst.
enum class Origin : std::uint8_t { kMeasured, kInterpolated, kExtrapolated, kRoofline };

/// One operator's predicted time.
struct Answer {
  double seconds = 0;
  Origin origin = Origin::kRoofline;
  double error = 0;  ///< relative, stated
};

/// Relative errors that are stated where there is nothing to check against.
inline constexpr double kRooflineError = 0.5;     ///< of an operator that nobody measured
inline constexpr double kOnePointError = 0.3;     ///< beside the only point of a signature
inline constexpr double kExtrapolationError = 0.1;  ///< more for every doubling beyond the points

/// Of measurements that say theirs.
template <typename Points>
double mean_error(const Points& points) {
  double sum = 0;
  for (const auto& point : points) sum += point.error;
  return points.empty() ? 0 : sum / static_cast<double>(points.size());
}

inline Origin worse(Origin a, Origin b) { return std::max(a, b); }

}  // namespace dooly::oracle
