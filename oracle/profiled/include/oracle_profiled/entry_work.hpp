#pragma once

#include "oracle/gpu.hpp"
#include "oracle/roofline_oracle.hpp"
#include "oracle/step_plan.hpp"
#include "oracle_profiled/row_work.hpp"

namespace dooly::oracle {

/// Least time of one operator of a plan by its rows (bytes for collectives): what measured times of its signature are
/// interpolated in. `link_bandwidth` and `ranks` (where the key has none) matter for collectives alone.
RowWork entry_work(const PlanEntry& entry, const Gpu& gpu, const Efficiency& efficiency, double link_bandwidth,
                   std::uint32_t ranks);

/// The same of experts for balanced tokens that a sweep measured: by the tiles of the kernel, where these are known.
RowWork balanced_work(RowWork work, const OperatorKey& key);

}  // namespace dooly::oracle
