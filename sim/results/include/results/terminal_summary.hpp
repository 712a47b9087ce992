#pragma once

#include <string>
#include <vector>

#include "results/summary.hpp"
#include "results/timing.hpp"

namespace dooly::results {

/// What a person reads at the end of a run: did everything complete, latencies, throughput, load, goodput, warnings,
/// and simulated against wall time. `colours`: with ANSI escapes, for a terminal.
std::string terminal_summary(const Summary& summary, const Timing& timing, bool colours);

/// Sentences about the run that its reader must know: those of RunTotals, rejected requests with their reasons,
/// saturation, answers by roofline or extrapolation only, percentiles from a sketch.
std::vector<std::string> summary_warnings(const Summary& summary);

}  // namespace dooly::results
