#pragma once

#include "results/summary.hpp"
#include "scenarios/scenario.hpp"

namespace dooly::cli {

/// What identifies a run in its results: name, seed, hash of the resolved scenario with every path replaced by the hash
/// of its file, hashes of the files. Reads them all. Throws UsageError naming a file that cannot be read.
results::ScenarioIdentity identity_of(const scenario::Scenario& scenario);

}  // namespace dooly::cli
