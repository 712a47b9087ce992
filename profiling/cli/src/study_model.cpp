#include "study_model.hpp"

#include "cli_error.hpp"

#include "profiling_engine/step_study.hpp"
#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/profiling_error.hpp"

namespace dooly::profiling {

void study_model(const StepJob& job, const StepListener& listener) {
  try {
    const ModelFile model = load_model(job.config);
    const auto kernels = make_vllm_kernels(job.kernels, job.backend);
    StudyOptions options;
    options.block_size = job.block_size;
    options.blocks = job.num_blocks;
    options.max_positions = job.max_model_len;
    for (const StepJob::Batch& batch : job.batches) {
      const StepStudy study = study_step(model, *kernels, {batch.requests, batch.context}, options);
      listener(study_text(study), study_json(study));
    }
  } catch (const ProfilingError& error) {
    throw cli::UsageError(error.what());
  }
}

}  // namespace dooly::profiling
