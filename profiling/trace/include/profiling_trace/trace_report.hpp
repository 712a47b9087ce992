#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dooly::profiling {

/// What is switched off to see what it is good for.
enum class Ablation : std::uint8_t {
  kNone,
  kConfig,  ///< sizes of the model are plain integers
  kRules    ///< dimension-mapping operators have no rules
};

struct TraceRequestOptions {
  std::string config = {};      ///< a shipped model, a config.json, or the folder of one
  std::string backend = "fa3";  ///< attention back end whose families the keys name
  std::string dtype = "auto";   ///< bfloat16, float16, float32, or the model's
  std::uint32_t tensor_parallel = 1, block_size = 16;
  /// `meta`: shapes alone, any size of model, no kernels and no times. `cpu`, `cuda`: runs with random weights and
  /// times, so that there are shares and coverage.
  std::string device = "meta";
  std::string kernels = {};  ///< folder of the vLLM wheel's libraries (cuda); empty: LibTorch's own
  std::uint32_t layers = 0;  ///< the first so many; 0: all
  /// On a GPU each distinct layer runs once and stands for those like it, unless `layers` says which; true: all run.
  bool every_layer = false;
  Ablation ablation = Ablation::kNone;
};

struct TraceReport {
  std::string text;  ///< tree, operations with signatures, check of three passes, coverage where something ran
  /// trace_json() of the prefill, and `operations`, `passes`, `not_planned`, `forgotten_attributes`, `coverage`,
  /// `above_operator`, and `timed`: the same and shares by kind of operation for each of the three passes.
  std::string json;
  std::vector<std::string> unlabelled;  ///< dimensions without origin
  std::vector<std::string> contradictions;  ///< between passes
  std::vector<std::string> not_planned;  ///< keys that the model's plan has not, or as often; and the other way
  std::vector<std::string> families;  ///< operations that ran kernels of another family than their keys name
  std::vector<std::string> forgotten;  ///< arguments that keys lack, though other kernels or times follow from them
  std::optional<double> coverage;  ///< where kernels ran: of the pass that is covered least
  double above_operator = 0;  ///< largest share of a pass's time in units larger than an operator
  std::size_t dims = 0;  ///< dimensions of operands and results, labelled or not
  bool is_proved() const {
    return unlabelled.empty() && contradictions.empty() && not_planned.empty() && forgotten.empty();
  }
};

/// Traces a prefill, a decode and a mixed pass of the model and compares them with each other and with the model's step
/// plan (the prefill; of latent attention the mixed pass, which alone has all operators); of an ablation, one pass and
/// no comparison. Throws OracleError, ProfilingError or TaintError.
TraceReport report_trace(const TraceRequestOptions& options);

}  // namespace dooly::profiling
