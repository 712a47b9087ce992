#pragma once

#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"
#include "oracle_profiled/work_curve.hpp"

#include <cstdint>
#include <vector>

namespace dooly::oracle {

/// Times by tokens under one routing.
struct ExpertPoints {
  std::vector<WorkCurve::Point> points;
  std::uint64_t routing = 0;
  /// Balanced tokens as a sweep measured them, in a kernel of known tiles: under_random_router() says what a router
  /// takes. Of others the points say it.
  bool are_in_tiles = false;
};

/// Of samples at one clock those of the routing asked for, else of the nearest one that was measured. Where experts in
/// use are known, at the number that a random router hits. `kernel_s`: start of a kernel.
ExpertPoints expert_points(const OperatorKey& key, const std::vector<Sample>& samples, std::uint32_t routing,
                           const RowWork& work, double kernel_s);

/// What a random router takes, of a curve of balanced tokens.
WorkCurve under_random_router(const WorkCurve& balanced, const RowWork& work);

}  // namespace dooly::oracle
