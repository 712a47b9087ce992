#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"
#include "oracle_profiled/work_curve.hpp"

#include <vector>

namespace dooly::import_ {

/// Times of a token operator at sizes that nobody measured, from its own samples, as `dooly predict` answers them:
/// between two sizes along the roofline, beyond them the roofline scaled to the nearest. For layouts that want every
/// operator at every size.
oracle::WorkCurve size_curve(const oracle::OperatorKey& key, const std::vector<oracle::Sample>& samples,
                             const oracle::Gpu& gpu);

}  // namespace dooly::import_
