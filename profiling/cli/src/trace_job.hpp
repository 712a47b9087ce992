#pragma once

#include "profiling_trace/trace_report.hpp"

#include <functional>

namespace dooly::profiling {

/// Traces a model: report_trace(). Empty in a build without LibTorch.
using TraceFunction = std::function<TraceReport(const TraceRequestOptions&)>;

}  // namespace dooly::profiling
