#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/gpu.hpp"
#include "oracle/kernel_times.hpp"
#include "oracle/model_config.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dooly::oracle {

/// How the model is run: what decides the work of one GPU besides the batch.
struct ExecutionSettings {
  std::uint32_t tensor_parallel = 1;
  DType dtype = DType::kBfloat16;
  DType kv_dtype = DType::kBfloat16;
};

/// One kind of operator whose work depends on the number of rows alone, on one GPU.
struct TokenOperator {
  std::string name;            ///< of the plan's entry
  std::uint32_t count = 1;     ///< how often it runs in a step
  double flops_per_row = 0;
  double weight_bytes = 0;     ///< read once a run; of all local experts for an expert operator
  double bytes_per_row = 0;    ///< activations read and written
  DType compute = DType::kBfloat16;
  bool experts = false;        ///< weights are read as far as tokens hit them (`active_expert_share`)
  KernelKind kind = KernelKind::kElementwise;
};

/// Attention of `layers` equal layers on one GPU.
struct AttentionOperator {
  AttentionKind kind = AttentionKind::kFull;
  std::uint32_t window = 0;
  std::uint32_t layers = 0;
  double prefill_flops_per_pair = 0;  ///< a pair is one query token and one token that it attends to, one layer
  double decode_flops_per_pair = 0;
  double kv_bytes_per_token = 0;      ///< one layer
};

/// The operators of one step. Rows of `per_token` are the batch's tokens, rows of `per_logit` the sequences that
/// sample.
struct StepOperators {
  std::vector<TokenOperator> per_token;
  std::vector<TokenOperator> per_logit;
  std::vector<AttentionOperator> attention;
  std::uint32_t all_reduces = 0;         ///< of tokens × hidden elements, each step; 0 without tensor parallelism
  double all_reduce_bytes_per_token = 0;
  double logits_gather_bytes_per_row = 0;  ///< what one GPU contributes
  std::uint32_t experts = 0;
  std::uint32_t experts_per_token = 0;
};

struct PlanEntry;
/// Which shares of a GPU's peaks the entry reaches; attention's is that of decodes.
KernelKind kernel_kind(const PlanEntry& entry);

/// What the roofline needs of the model's step plan on one GPU without pipeline or expert parallelism (make_plan).
/// Latent attention's projections are listed once, for prefill.
StepOperators step_operators(const ModelConfig& model, const ExecutionSettings& settings);

/// Expected share of `experts` that `tokens` tokens hit, each `experts_per_token` distinct ones at random:
/// 1 − (1 − k/E)^tokens.
double active_expert_share(std::uint32_t experts, std::uint32_t experts_per_token, std::uint32_t tokens);

/// Σ over query positions context+1 … context+query of the tokens each attends to, itself included.
double attended_pairs(AttentionKind kind, std::uint32_t window, std::uint64_t context, std::uint64_t query);

/// Tokens whose keys and values a prefill chunk reads.
double attended_tokens(AttentionKind kind, std::uint32_t window, std::uint64_t context, std::uint64_t query);

/// Tokens that the batch's decodes attend to, summed. Exact for full attention. For windows the batch gives only count,
/// sum and sum of squares of the contexts: Scarf's bound on the mean overflow, exact if all contexts are equal, never
/// too large. A local chunk counts as half full where contexts exceed half of it.
double decode_attended(const AttentionOperator& attention, const BatchShape& shape);

/// FLOPs and bytes of a step on one GPU, collectives left out.
struct Work {
  double flops = 0;
  double bytes = 0;
};
Work step_work(const StepOperators& operators, const BatchShape& shape);

}  // namespace dooly::oracle
