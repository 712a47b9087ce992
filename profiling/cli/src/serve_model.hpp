#pragma once

#include "serve_job.hpp"

namespace dooly::profiling {

/// Serves by the built-in engine with LibTorch's kernels. Throws OracleError or cli::UsageError for what cannot be
/// served.
ServeFigures serve_model(const ServeJob& job);

}  // namespace dooly::profiling
