#pragma once

#include "profiling_engine/model.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dooly::profiling {

/// A decode batch: each request computes one token.
struct StudyBatch {
  std::uint32_t requests = 1, context = 0;  ///< tokens in the cache before, of each
};

/// Kernels in a graph, by CUPTI. Seconds a step.
struct StudyKernels {
  double alone = 0;    ///< of these calls alone
  double inside = 0;   ///< in the step
  double cold = 0;     ///< alone, each call behind a read of more than the GPU's cache holds
  double touched = 0;  ///< as cold, but what the call reads beside weights and KV cache has been read once more since
  double pages = 0;  ///< alone, each call behind a read of a line in each of more pages than the GPU's TLBs know
  double near = 0;  ///< to compare with that: behind a read of as many lines behind each other
  StudyKernels& operator+=(const StudyKernels& other);
};

/// One kind of operator in a captured step. Seconds a step, all its calls together.
struct StudyPart {
  std::string kind;  ///< operator, and of matrix products the shape
  std::size_t calls = 0;
  double alone = 0;  ///< a graph of these calls alone, by events
  double missed = 0;  ///< by how much the step is shorter without these calls, by events
  StudyKernels kernels;
  std::vector<std::pair<std::string, StudyKernels>> by_kernel;  ///< of one call, in order
};

/// What a decode step is made of.
struct StepStudy {
  StudyBatch batch;
  double engine = 0;  ///< the engine's whole step: inputs, graph, logits, choice of tokens
  double graph = 0;  ///< the captured part: embedding to last norm
  double rebuilt = 0;  ///< a graph of the recorded calls, whose activations stay in the cache: checks the parts
  double kernels = 0;  ///< kernels of the captured part, by CUPTI
  double gaps = 0;  ///< between them
  double clock_mhz = 0;  ///< of the GPU's multiprocessors, after the step was timed
  std::vector<StudyPart> parts;  ///< by falling time
};

struct StudyOptions {
  std::uint32_t block_size = 16;
  std::uint32_t blocks = 0;  ///< of the KV cache, among which the batch's are scattered; 0: as many as it takes
  std::uint32_t max_positions = 0;  ///< 0: the model's
  int rounds = 15;
};

/// Takes a captured decode step apart, on a GPU with kernels that can be captured. Throws ProfilingError without.
StepStudy study_step(const ModelFile& model, Kernels& kernels, const StudyBatch& batch, const StudyOptions& options);

std::string study_text(const StepStudy& study);
std::string study_json(const StepStudy& study);  ///< one line

}  // namespace dooly::profiling
