#pragma once

#include "oracle/kernel_times.hpp"
#include "oracle/sample.hpp"
#include "oracle_profiled/attention_roofline.hpp"
#include "oracle_profiled/work_curve.hpp"

#include <cstdint>
#include <vector>

namespace dooly::oracle {

// Operators that no source answers, by what operators of their kind take on the GPU (KernelTimes): points as if they
// had been measured, for the same regressors. `efficiency`: that `work` was made with, which it is freed of.

/// By rows 1, 2, 4, …; labelled roofline.
WorkCurve fitted_roofline(const RowWork& work, const Efficiency& efficiency, const KernelTimes& times, KernelKind kind);

/// Decodes and chunks over sequences, queries and contexts up to `most` tokens.
std::vector<Sample> fitted_roofline(const AttentionRoofline& work, const Efficiency& efficiency,
                                    const KernelTimes& times, std::uint64_t most_decodes, std::uint64_t most_tokens);

}  // namespace dooly::oracle
