#pragma once

#include "oracle/model_config.hpp"
#include "oracle/operator_key.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::oracle {

/// What of a batch decides how long an operator takes.
enum class Binding : std::uint8_t {
  kTokens,      ///< total tokens (padded to the captured size)
  kLogitsRows,  ///< sequences that sample
  kAttention,   ///< the batch's composition
  kExperts,     ///< tokens and routing
  kCollective   ///< bytes = bytes_per_token x tokens (or x rows)
};

/// One operator of a step, `count` times.
struct PlanEntry {
  std::string name;        ///< for people: "qkv_proj", "attention (window 4096)", ...
  OperatorKey key;
  Signature signature;
  Binding binding = Binding::kTokens;
  std::uint32_t count = 1;
  double flops_per_token = 0;    ///< of one run, for roofline and reports
  double weight_bytes = 0;
  double bytes_per_token = 0;    ///< activations, or the collective's message
  bool per_row = false;          ///< kCollective: the message follows logits rows
};

/// What one pipeline stage computes in a step; layers that differ stay distinct entries.
struct StepPlan {
  std::string model;
  std::string backend;           ///< attention back end
  std::string dtype, kv_dtype;
  std::uint32_t tensor_parallel = 1, pipeline_parallel = 1, expert_parallel = 1, stage = 0;
  std::uint32_t block_size = 16;
  std::vector<PlanEntry> entries;
  std::uint64_t parameters = 0;
  double kv_bytes_per_token = 0;  ///< on one GPU of this stage
};

struct PlanSettings {
  std::string backend = "fa3";
  std::string dtype = "auto";
  std::string kv_dtype = "auto";
  std::uint32_t tensor_parallel = 1, pipeline_parallel = 1, expert_parallel = 1, stage = 0;
  std::uint32_t block_size = 16;
};

/// The plan of a model's step as vLLM runs it (fused qkv and gate-up projections, fused add+norm). Throws OracleError
/// for what cannot be sharded so, and by name for operators that nobody can plan yet.
StepPlan make_plan(const ModelConfig& model, const PlanSettings& settings);

std::string plan_json(const StepPlan& plan);
StepPlan parse_plan(std::string_view json);

}  // namespace dooly::oracle
