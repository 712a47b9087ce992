#pragma once

#include "step_job.hpp"

namespace dooly::profiling {

/// Takes steps apart on the first GPU. Throws cli::UsageError for models and kernels that cannot be used.
void study_model(const StepJob& job, const StepListener& listener);

}  // namespace dooly::profiling
