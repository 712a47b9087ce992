#pragma once

#include "profiling_trace/trace.hpp"

#include <string>
#include <vector>

namespace dooly::profiling {

/// What a second pass of the same model with other request sizes says about the labels.
struct PassCheck {
  /// Where the passes contradict the labels: other operators, a dimension that is not what its label says, a plain
  /// integer that changed, a size of the model that changed. Empty: proved.
  std::vector<std::string> contradictions;
  /// Request symbols that had the same value in both passes: nothing is proved about them.
  std::vector<std::string> unchanged;
  /// Comparisons of sizes that came out differently, or were made in one pass alone: branches of the request.
  std::vector<std::string> branches;
  /// Parts of modules that only one of the passes had, as its batch is made up: compared by other passes.
  std::vector<std::string> alone;
  std::size_t request_dims = 0, model_dims = 0;  ///< compared dimensions by who decides them
};

/// Compares operator by operator. Integer arguments that are known to follow the batch without a label
/// (max_seqlen_q, max_seqlen_k, num_splits) may change.
PassCheck check_passes(const Trace& first, const Trace& second);

}  // namespace dooly::profiling
