#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Distinct signatures of models, attention back ends and tensor-parallel degrees, and which of them configurations
/// share: the table of `dooly profile model --dry-run`, from traces where that is from plans. Collectives are left out,
/// as there: they are measured by machine, not by model.
struct TracedReuse {
  struct Row {
    std::string model, backend;
    std::uint32_t tensor_parallel = 1;
    std::size_t signatures = 0;  ///< distinct ones of this configuration
    std::size_t fresh = 0;  ///< that no row above has
  };
  std::vector<Row> rows;  ///< by model in the given order, then degree, then back end
  std::vector<std::string> left_out;  ///< configurations that cannot be, and why
  std::size_t total = 0, unique = 0;  ///< signatures of all rows, and distinct ones
};

/// Traces each model on the device `meta`, with the families that the real engine runs.
TracedReuse traced_reuse(const std::vector<std::filesystem::path>& configs, const std::vector<std::string>& backends,
                         const std::vector<std::uint32_t>& tensor_parallel);

std::string reuse_text(const TracedReuse& table);

}  // namespace dooly::profiling
