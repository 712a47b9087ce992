#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dooly::profiling {

struct TraceRequestOptions {
  std::filesystem::path config;      ///< config.json, or the folder of one
  std::string backend = "fa3";       ///< attention back end whose families the keys name
  std::string dtype = "bfloat16";    ///< bfloat16, float16 or float32
  std::uint32_t tensor_parallel = 1, block_size = 16;
  /// Runs on the CPU and times: share of time and coverage. Else the device `meta`: shapes alone, any size of model.
  bool run = false;
};

struct TraceReport {
  std::string text;  ///< tree, operations with signatures, check of three passes, coverage if run
  std::string json;  ///< trace_json()
  std::vector<std::string> unlabelled;      ///< dimensions without origin
  std::vector<std::string> contradictions;  ///< between passes
  std::vector<std::string> not_planned;     ///< keys that the model's plan has not, or as often; and the other way
  double coverage = 1;                      ///< if run
  bool is_proved() const { return unlabelled.empty() && contradictions.empty() && not_planned.empty(); }
};

/// Traces a prefill, a decode and a mixed pass of the model with LibTorch's kernels and compares them with each other
/// and with the model's step plan. Throws OracleError, ProfilingError or TaintError.
TraceReport report_trace(const TraceRequestOptions& options);

}  // namespace dooly::profiling
