#pragma once

#include "oracle/model_config.hpp"
#include "oracle/operator_key.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace dooly::import_ {

/// How a model was run when its layers were measured.
struct ModelRun {
  oracle::ModelConfig model;
  std::uint32_t tensor_parallel = 1;
  std::string dtype = "bfloat16", kv_dtype = "bfloat16";
  std::string attention_family = "fa2";
  std::uint32_t block_size = 16;
};

/// Operators of one GPU by LLMServingSim's names of layers: embedding, layernorm, qkv_proj, q_proj, qk_norm,
/// rotary_emb, attention, o_proj, gate_up_proj, act_fn, down_proj, moe, final_layernorm, lm_head, sampler ... Both the
/// fused ones of its version 1 and the single ones of version 0. Layers that the model does not have are left out;
/// those that it measures on one GPU for all numbers of them (norms, qk_norm, sampler) are those of one.
/// Throws oracle::OracleError if the model cannot be split so.
std::map<std::string, oracle::OperatorKey> model_layers(const ModelRun& run);

}  // namespace dooly::import_
