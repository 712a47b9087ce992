#pragma once

#include "oracle_profiled/work_curve.hpp"

namespace dooly::oracle {

/// Stated of a norm that was put together.
inline constexpr double kFusedNormError = 0.2;

/// The fused add + norm from a norm and an addition that were measured apart. It is one launch, which starts as the
/// norm does, and moves four rows where the two move five: norm(1) + 4/5 of what both take more than at one row.
/// At the rows of both where both were measured around them; empty where their ranges do not meet.
WorkCurve fused_norm(const WorkCurve& norm, const WorkCurve& addition, const RowWork& work);

}  // namespace dooly::oracle
