#pragma once

#include "profiling_kernels/kernels.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Which shapes scripts/triton-experts, scripts/triton-attention and scripts/triton-norms compiled kernels for, by the
/// tables that they wrote to experts/experts.json, attention/attention.json and norms/norms.json in FOLDER. What has no
/// table has no shapes.
class CompiledShapes {
 public:
  /// Throws ProfilingError naming the file for a table that cannot be understood, or that was compiled by another
  /// Triton than the others or from another vLLM than that of FOLDER.
  explicit CompiledShapes(const std::string& folder);

  /// Why kernels of that shape are not there; empty: they are.
  std::string refusal(const ExpertShape& shape) const;
  std::string refusal(const AttentionShape& shape) const;
  std::string refusal(const HeadShape& shape) const;

  /// Of the Triton that compiled the kernels, as the tables have it: "unknown" if they do not say, empty without any.
  const std::string& triton_version() const { return triton_; }

 private:
  using Shapes = std::set<std::vector<std::int64_t>>;
  Shapes experts_, attention_, norms_;
  std::string triton_;
};

/// What is said of norms of heads that were not compiled.
std::string not_compiled(const HeadShape& shape);

}  // namespace dooly::profiling
