#pragma once

#include "oracle/model_config.hpp"
#include "oracle/operator_key.hpp"
#include "profiling_kernels/kernels.hpp"
#include "profiling_trace/trace.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::profiling {

/// Implementation family of a kind of operator; "": the one that docs/operator-keys.md names for its types.
using FamilyNames = std::function<std::string(std::string_view kind)>;
FamilyNames families_of(const Kernels& kernels);  ///< as the kernel library declares them; `kernels` must outlive it
/// Those of oracle::make_plan: what the real engine runs on a GPU with that attention back end.
FamilyNames plan_families(const oracle::ModelConfig& config, std::string_view attention, std::uint32_t tensor_parallel);

/// Calls of a trace that are one operation of a step plan (norms of queries and of keys are two calls).
struct SignedOperation {
  oracle::OperatorKey key;
  oracle::Signature signature;
  std::vector<std::size_t> operators;  ///< of Trace::operators
  std::uint32_t times = 1;  ///< operations that it stands for
};

struct SignedTrace {
  std::vector<SignedOperation> operations;  ///< in order of their last call
  std::vector<std::size_t> views;     ///< calls that run no kernel
  std::vector<std::size_t> unsigned_; ///< calls that no key describes
};

/// Keys of a traced pass. Sizes of the model are those of dimensions whose labels no request decides, rows those that a
/// request decides, so neither is told by its number. Throws ProfilingError naming operator and dimension where a label
/// is missing or of the other kind.
SignedTrace sign(const Trace& trace, const FamilyNames& families);

/// Operations whose kernels, where the trace has symbols, are of another family than their keys name: one line for each
/// operator and family, naming both. The built-in engine runs the wheel's own where vLLM compiles.
std::vector<std::string> family_findings(const Trace& trace, const SignedTrace& keys);

}  // namespace dooly::profiling
