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
  kTokens,        ///< total tokens (padded to the captured size)
  kLogitsRows,    ///< sequences that sample
  kAttention,     ///< the batch's composition
  kExperts,       ///< tokens and routing
  kCollective,    ///< bytes = bytes_per_token x tokens (or x rows)
  kPrefillTokens, ///< tokens that long prefill chunks attend to: latent attention expands those of the cache too
  kDecodeTokens  ///< tokens of decodes and of chunks up to longest_absorbed(): latent attention absorbs its projections
                 ///< for these alone
};
std::string_view binding_name(Binding binding);  ///< "tokens", "logits_rows", ...

/// One operator of a step, `count` times.
struct PlanEntry {
  std::string name;  ///< for people: "qkv_proj", "attention (window 4096)", ...
  OperatorKey key;
  Signature signature;
  Binding binding = Binding::kTokens;
  std::uint32_t count = 1;
  /// FLOPs of one run for each of its rows; kAttention: for each pair of a prefill's query token and a token that it
  /// attends to, in one layer. kExperts: of the share that this GPU computes of each token.
  double flops_per_token = 0;
  double decode_flops_per_pair = 0;  ///< kAttention: the same for decodes
  double weight_bytes = 0;  ///< read once a run; kExperts: of all local experts
  /// Activations read and written for each row; kCollective: the message; kAttention: KV cache of one token.
  double bytes_per_token = 0;
  bool per_row = false;  ///< kCollective: the message follows logits rows
  std::uint32_t rows_per_token = 1;  ///< rows of this operator are so many times the batch's tokens (experts shared by
                                     ///< data-parallel ranks)
};

/// An operation that stands for several entries of each of `count` layers; tables that hold nothing finer can answer
/// it.
struct PlanModule {
  std::string name;
  OperatorKey key;
  Signature signature;
  std::uint32_t count = 1;
  std::vector<std::string> replaces;  ///< names of entries, all of which it covers
};

/// What one pipeline stage computes in a step; layers that differ stay distinct entries.
struct StepPlan {
  std::string model;
  std::string backend;  ///< attention back end
  bool backend_is_default = false;  ///< nobody asked for it: who predicts may take the one that was measured
  std::string dtype, kv_dtype;
  std::uint32_t tensor_parallel = 1, pipeline_parallel = 1, expert_parallel = 1, stage = 0;
  std::uint32_t block_size = 16;
  std::uint32_t first_layer = 0, dense_layers = 0, moe_layers = 0;  ///< of this stage
  std::vector<PlanEntry> entries;  ///< in order of first appearance; equal ones of several layers are one
  std::vector<PlanModule> modules;
  std::uint64_t parameters = 0;  ///< of this stage's layers, embedding and head, unsplit, as published: stages
                                 ///< add up to parameter_count()
  double kv_bytes_per_token = 0;  ///< on one GPU of this stage
};

/// `expert_parallel` counts the GPUs that share the experts: 1 (each expert is split), or a multiple of
/// `tensor_parallel` (vLLM splits over all tensor- and data-parallel ranks).
struct PlanSettings {
  std::string backend = "fa3";  ///< one of plan_backends(), or vLLM's names of them
  std::string dtype = "auto";
  std::string kv_dtype = "auto";
  std::uint32_t tensor_parallel = 1, pipeline_parallel = 1, expert_parallel = 1, stage = 0;
  std::uint32_t block_size = 16;
};

/// The plan of a model's step as vLLM runs it (fused qkv and gate-up projections, fused add+norm). Throws OracleError
/// for what cannot be sharded so, and by name for operators that nobody can plan yet.
StepPlan make_plan(const ModelConfig& model, const PlanSettings& settings);

/// The plan as make_plan() has it with another back end. Throws OracleError for an unknown one, and for a plan of
/// `torch`, which does not tell other kernels.
StepPlan with_backend(StepPlan plan, std::string_view backend);

/// `fa2`, `fa3`, `fa4`, `flashinfer`, `flashmla`, `triton`, and `torch`: LibTorch's own kernels, of every operator.
std::vector<std::string_view> plan_backends();

/// Family of the kernels of latent attention under a back end. Throws OracleError for an unknown one.
std::string_view latent_family(std::string_view backend);

/// Longest query that kernels of such a family attend to in the latent, as they do for decodes, in one launch with
/// them; longer ones run on expanded heads.
std::uint32_t longest_absorbed(std::string_view latent_family);

/// Layers that vLLM gives each pipeline stage: equal shares, the rest one each to the stages before the last.
std::vector<std::uint32_t> stage_layers(std::uint32_t layers, std::uint32_t stages);

/// Readable JSON with sorted members; the same plan gives the same bytes.
std::string plan_json(const StepPlan& plan);
/// Throws OracleError naming the member that is missing or wrong, or the entry whose signature is not that of its key.
StepPlan parse_plan(std::string_view json);

}  // namespace dooly::oracle
