#pragma once

#include "demands.hpp"
#include "profiling_sweep/held_out.hpp"
#include "profiling_sweep/sweep.hpp"
#include "store_names.hpp"

#include <string>
#include <vector>

namespace dooly::profiling {

/// "linear 4096x6144".
std::string short_title(const oracle::OperatorKey& key);
/// "0:42", "1:02:03".
std::string clock_text(double seconds);

/// Per model, back end and degree: signatures, how many are new, shared or there; sums.
std::string reuse_text(const ReuseTable& table);

/// What a sweep would name as such: per operation why. Empty if there is none.
std::string unmeasurable_text(const std::vector<Unmeasurable>& operations);

/// Of the operations that have points, by kind: how many, and how many the dense grid would have. Empty if none has.
std::string points_text(const std::vector<Operation>& operations, const MeasuredPoints& points,
                        const SweepLimits& limits);

/// Per signature: points, left-out error, device seconds; then sums and what the dense grid would have cost.
std::string sweep_text(const SweepReport& report, const SweepLimits& limits, bool is_dense);

/// What was measured apart, and the command that scores it.
std::string held_out_text(const HeldOutReport& report, const std::string& store, const std::string& file);

/// "[====    ] 12 of 61 signatures, 345 points, 0:23 measured, 3:20 left, linear 4096x6144".
std::string progress_text(const SweepProgress& progress, bool with_bar);

}  // namespace dooly::profiling
