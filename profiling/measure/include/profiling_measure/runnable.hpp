#pragma once

#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"
#include "profiling_kernels/kernels.hpp"
#include "profiling_measure/inputs.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace dooly::profiling {

/// An operator with its inputs, ready to be called again and again: the call of Kernels that an engine makes.
struct Runnable {
  /// Runs once on the given copy of the inputs that come from memory in a real step (weights, KV cache); activations,
  /// which the operator before has just written, are the same each time. The result is what the operator returns, or
  /// what it wrote in place.
  std::function<at::Tensor(std::size_t copy)> run;
  std::size_t copies = 1;
  std::string note;  ///< what is special about it
};

/// Whether `kernels` have what the key names. If not, `why` says what is missing. An operator that the engine's
/// compiler makes (family inductor) is run as one of these or of LibTorch of the same work, with a note; norms of heads
/// by the compiler's kernel, as Kernels::head_norms() has it.
bool can_run(const oracle::OperatorKey& key, const KernelClaims& kernels, std::string& why);

/// Inputs and call of a key at a point. Throws ProfilingError for what can_run() refuses and for points that make no
/// sense, c10::Error where the memory does not suffice.
Runnable make_runnable(const oracle::OperatorKey& key, const oracle::SamplePoint& point, Kernels& kernels,
                       Inputs& inputs);

}  // namespace dooly::profiling
