#include "oracle/step_plan.hpp"

#include "oracle/kv_layout.hpp"
#include "oracle/model_config.hpp"
#include "oracle/model_table.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/weights.hpp"
#include "test_support/test_data.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace dooly::oracle {
namespace {

/// "32 x qkv_proj: linear 4096,6144 cublas [tokens]".
std::string line(const PlanEntry& entry) {
  std::string text = std::to_string(entry.count) + " x " + entry.name + ": " + entry.key.kind;
  for (std::size_t i = 0; i < entry.key.dims.size(); ++i) {
    text += i == 0 ? ' ' : ',';
    text += std::to_string(entry.key.dims[i]);
  }
  for (const auto& [name, value] : entry.key.attributes) {
    text += ' ';
    text += name;
    if (const auto* number = std::get_if<std::int64_t>(&value)) text.append("=").append(std::to_string(*number));
    if (const auto* word = std::get_if<std::string>(&value)) text.append("=").append(*word);
  }
  return text.append(" ").append(entry.key.family).append(" [").append(binding_name(entry.binding)).append("]");
}

std::vector<std::string> lines(const StepPlan& plan) {
  std::vector<std::string> out;
  for (const PlanEntry& entry : plan.entries) out.push_back(line(entry));
  return out;
}

StepPlan plan_of(const char* name, const PlanSettings& settings = {}) { return make_plan(find_model(name), settings); }

const PlanEntry& entry(const StepPlan& plan, const std::string& name) {
  const auto found = std::find_if(plan.entries.begin(), plan.entries.end(),
                                  [&](const PlanEntry& candidate) { return candidate.name == name; });
  if (found == plan.entries.end()) throw std::runtime_error("no entry " + name);
  return *found;
}

const Signature& signature(const StepPlan& plan, const std::string& name) { return entry(plan, name).signature; }

// --- golden plans, written by hand from the published shapes and the engine's model files

TEST(GoldenPlan, Llama31_8B) {
  const StepPlan plan = plan_of("meta-llama/Llama-3.1-8B");
  EXPECT_EQ(lines(plan), (std::vector<std::string>{
                             "1 x embedding: embedding 128256,4096 torch [tokens]",
                             "1 x input_norm: rms_norm 4096 vllm-c [tokens]",
                             "32 x qkv_proj: linear 4096,6144 cublas [tokens]",
                             "32 x rope: rope 32,8,128 vllm-c [tokens]",
                             "32 x kv_write: kv_write 8,128 vllm-c [tokens]",
                             "32 x attention: attention 32,8,128 fa3 [attention]",
                             "32 x o_proj: linear 4096,4096 cublas [tokens]",
                             "32 x post_attention_norm: rms_norm 4096 residual vllm-c [tokens]",
                             "32 x gate_up_proj: linear 4096,28672 cublas [tokens]",
                             "32 x act_and_mul: silu_and_mul 14336 vllm-c [tokens]",
                             "32 x down_proj: linear 14336,4096 cublas [tokens]",
                             "31 x input_norm: rms_norm 4096 residual vllm-c [tokens]",
                             "1 x final_norm: rms_norm 4096 residual vllm-c [tokens]",
                             "1 x lm_head: linear 4096,128256 cublas [logits_rows]",
                             "1 x sample: sample 128256 torch [logits_rows]",
                         }));
  EXPECT_EQ(plan.parameters, 8'030'261'248u);
  EXPECT_EQ(plan.kv_bytes_per_token, 131072);  // 32 layers × 2 × 8 × 128 × 2 B
  EXPECT_EQ(entry(plan, "qkv_proj").flops_per_token, 2.0 * 4096 * 6144);
  EXPECT_EQ(entry(plan, "qkv_proj").weight_bytes, 2.0 * 4096 * 6144);
  EXPECT_EQ(entry(plan, "attention").flops_per_token, 4.0 * 32 * 128);
  EXPECT_EQ(entry(plan, "attention").bytes_per_token, 4096);
  EXPECT_EQ(plan.dense_layers, 32u);
}

TEST(GoldenPlan, Llama31_8BOnTwoGpus) {
  const StepPlan plan = plan_of("meta-llama/Llama-3.1-8B", {.tensor_parallel = 2});
  EXPECT_EQ(lines(plan), (std::vector<std::string>{
                             "1 x embedding: embedding 64128,4096 torch [tokens]",
                             "65 x all_reduce: all_reduce 2 vllm-custom [collective]",  // embedding and 2 a layer
                             "1 x input_norm: rms_norm 4096 vllm-c [tokens]",
                             "32 x qkv_proj: linear 4096,3072 cublas [tokens]",
                             "32 x rope: rope 16,4,128 vllm-c [tokens]",
                             "32 x kv_write: kv_write 4,128 vllm-c [tokens]",
                             "32 x attention: attention 16,4,128 fa3 [attention]",
                             "32 x o_proj: linear 2048,4096 cublas [tokens]",
                             "32 x post_attention_norm: rms_norm 4096 residual vllm-c [tokens]",
                             "32 x gate_up_proj: linear 4096,14336 cublas [tokens]",
                             "32 x act_and_mul: silu_and_mul 7168 vllm-c [tokens]",
                             "32 x down_proj: linear 7168,4096 cublas [tokens]",
                             "31 x input_norm: rms_norm 4096 residual vllm-c [tokens]",
                             "1 x final_norm: rms_norm 4096 residual vllm-c [tokens]",
                             "1 x lm_head: linear 4096,64128 cublas [logits_rows]",
                             "1 x logits_gather: all_gather 2 nccl [collective]",
                             "1 x sample: sample 128256 torch [logits_rows]",
                         }));
  EXPECT_EQ(entry(plan, "all_reduce").bytes_per_token, 8192);
  EXPECT_FALSE(entry(plan, "all_reduce").per_row);
  EXPECT_EQ(entry(plan, "logits_gather").bytes_per_token, 128256);  // 64128 × 2 B
  EXPECT_TRUE(entry(plan, "logits_gather").per_row);
  EXPECT_EQ(plan.kv_bytes_per_token, 65536);
  EXPECT_EQ(plan.parameters, 8'030'261'248u);
}

TEST(GoldenPlan, Qwen3_30B_A3B) {
  const StepPlan plan = plan_of("Qwen/Qwen3-30B-A3B");
  EXPECT_EQ(lines(plan), (std::vector<std::string>{
                             "1 x embedding: embedding 151936,2048 torch [tokens]",
                             "1 x input_norm: rms_norm 2048 vllm-c [tokens]",
                             "48 x qkv_proj: linear 2048,5120 cublas [tokens]",
                             "48 x qk_norm: qk_norm 32,4,128 inductor [tokens]",
                             "48 x rope: rope 32,4,128 vllm-c [tokens]",
                             "48 x kv_write: kv_write 4,128 vllm-c [tokens]",
                             "48 x attention: attention 32,4,128 fa3 [attention]",
                             "48 x o_proj: linear 4096,2048 cublas [tokens]",
                             "48 x post_attention_norm: rms_norm 2048 residual vllm-c [tokens]",
                             "48 x router: linear 2048,128 cublas [tokens]",
                             "48 x topk_softmax: topk_softmax 128,8 vllm-c [tokens]",
                             "48 x moe_experts: moe_experts 2048,768,128,8 triton-fused-moe [experts]",
                             "47 x input_norm: rms_norm 2048 residual vllm-c [tokens]",
                             "1 x final_norm: rms_norm 2048 residual vllm-c [tokens]",
                             "1 x lm_head: linear 2048,151936 cublas [logits_rows]",
                             "1 x sample: sample 151936 torch [logits_rows]",
                         }));
  const PlanEntry& experts = entry(plan, "moe_experts");
  EXPECT_EQ(experts.flops_per_token, 2.0 * 3 * 2048 * 768 * 8);
  EXPECT_EQ(experts.weight_bytes, 2.0 * 128 * 3 * 2048 * 768);
  EXPECT_EQ(plan.moe_layers, 48u);
}

TEST(GoldenPlan, CommandR7B) {
  // Attention and MLP side by side on one norm; three layers of four have a window and rotary positions.
  const StepPlan plan = plan_of("CohereForAI/c4ai-command-r7b-12-2024");
  EXPECT_EQ(lines(plan), (std::vector<std::string>{
                             "1 x embedding: embedding 256000,4096 torch [tokens]",
                             "32 x input_norm: layer_norm 4096 inductor [tokens]",
                             "32 x qkv_proj: linear 4096,6144 cublas [tokens]",
                             "24 x rope: rope 32,8,128 interleaved vllm-c [tokens]",
                             "32 x kv_write: kv_write 8,128 vllm-c [tokens]",
                             "24 x attention (window 4096): attention 32,8,128 window=4096 fa3 [attention]",
                             "32 x o_proj: linear 4096,4096 cublas [tokens]",
                             "32 x gate_up_proj: linear 4096,28672 cublas [tokens]",
                             "32 x act_and_mul: silu_and_mul 14336 vllm-c [tokens]",
                             "32 x down_proj: linear 14336,4096 cublas [tokens]",
                             "32 x residual_add: add 4096 terms=3 inductor [tokens]",
                             "8 x attention: attention 32,8,128 fa3 [attention]",
                             "1 x final_norm: layer_norm 4096 inductor [tokens]",
                             "1 x lm_head: linear 4096,256000 cublas [logits_rows]",
                             "1 x sample: sample 256000 torch [logits_rows]",
                         }));
  // The engine reduces both halves of a layer, and the embedding.
  EXPECT_EQ(entry(plan_of("CohereForAI/c4ai-command-r7b-12-2024", {.tensor_parallel = 2}), "all_reduce").count, 65u);
}

TEST(GoldenPlan, DeepSeekV2Lite) {
  const StepPlan plan = plan_of("deepseek-ai/DeepSeek-V2-Lite");
  EXPECT_EQ(lines(plan), (std::vector<std::string>{
                             "1 x embedding: embedding 102400,2048 torch [tokens]",
                             "1 x input_norm: rms_norm 2048 vllm-c [tokens]",
                             "27 x q_proj: linear 2048,3072 cublas [tokens]",    // 16 × (128 + 64)
                             "27 x kv_a_proj: linear 2048,576 cublas [tokens]",  // 512 + 64
                             "27 x kv_a_norm: rms_norm 512 vllm-c [tokens]",
                             "27 x rope: rope 16,1,64 interleaved vllm-c [tokens]",
                             "27 x kv_write: mla_kv_write 512,64 vllm-c [tokens]",
                             "27 x kv_b_proj: linear 512,4096 cublas [prefill_tokens]",  // 16 × (128 + 128)
                             "27 x absorbed_k_proj: bmm 16,128,512 cublas [decode_tokens]",
                             "27 x mla_attention: mla_attention 16,512,128,64,128 scale fa3-mla [attention]",
                             "27 x absorbed_v_proj: bmm 16,512,128 cublas [decode_tokens]",
                             "27 x o_proj: linear 2048,2048 cublas [tokens]",
                             "27 x post_attention_norm: rms_norm 2048 residual vllm-c [tokens]",
                             "1 x gate_up_proj: linear 2048,21888 cublas [tokens]",  // the first layer is dense
                             "1 x act_and_mul: silu_and_mul 10944 vllm-c [tokens]",
                             "1 x down_proj: linear 10944,2048 cublas [tokens]",
                             "26 x input_norm: rms_norm 2048 residual vllm-c [tokens]",
                             "26 x router: linear 2048,64 cublas [tokens]",
                             "26 x topk_softmax: topk_softmax 64,6 vllm-c [tokens]",
                             "26 x moe_experts: moe_experts 2048,1408,64,6 triton-fused-moe [experts]",
                             "26 x shared_gate_up_proj: linear 2048,5632 cublas [tokens]",  // two shared experts
                             "26 x shared_act_and_mul: silu_and_mul 2816 vllm-c [tokens]",
                             "26 x shared_down_proj: linear 2816,2048 cublas [tokens]",
                             "26 x experts_add: add 2048 inductor [tokens]",
                             "1 x final_norm: rms_norm 2048 residual vllm-c [tokens]",
                             "1 x lm_head: linear 2048,102400 cublas [logits_rows]",
                             "1 x sample: sample 102400 torch [logits_rows]",
                         }));
  EXPECT_EQ(plan.kv_bytes_per_token, 27 * 576 * 2);
  // (0.1 × 0.707 × ln 40 + 1)² / √192, to nine digits.
  EXPECT_EQ(std::get<double>(entry(plan, "mla_attention").key.attributes.at("scale")), 0.114721387);
  ASSERT_EQ(plan.modules.size(), 1u);
  EXPECT_EQ(plan.modules[0].count, 27u);
  for (const std::string& name : plan.modules[0].replaces) EXPECT_EQ(entry(plan, name).count, 27u) << name;
}

// --- equal work, equal signatures; other work, others

TEST(PlanSignatures, ModelsShareWhatIsEqual) {
  const StepPlan llama = plan_of("meta-llama/Llama-3.1-8B");
  const StepPlan qwen = plan_of("Qwen/Qwen3-8B");
  // Both: hidden 4096, 32 heads of 128, 8 KV heads; the MLP (14336, 12288) and the vocabulary differ.
  for (const char* name : {"qkv_proj", "o_proj", "rope", "kv_write", "attention", "post_attention_norm"}) {
    EXPECT_EQ(signature(llama, name), signature(qwen, name)) << name;
  }
  for (const char* name : {"gate_up_proj", "act_and_mul", "down_proj", "lm_head", "embedding", "sample"}) {
    EXPECT_NE(signature(llama, name), signature(qwen, name)) << name;
  }
}

TEST(PlanSignatures, ShardsAreTheSameAsASmallerModel) {
  // A GPU of two with Llama-3.1-8B computes an MLP half as wide; written as a model of its own it is the same work.
  const ModelConfig half = parse_model(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 7168,
    "num_hidden_layers": 1, "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 64128,
    "max_position_embeddings": 128})",
                                       "half");
  const StepPlan whole = make_plan(half, {});
  const StepPlan shard = plan_of("meta-llama/Llama-3.1-8B", {.tensor_parallel = 2});
  for (const char* name : {"qkv_proj", "o_proj", "gate_up_proj", "down_proj", "act_and_mul", "attention", "lm_head",
                           "rope", "kv_write", "embedding"}) {
    EXPECT_EQ(signature(whole, name), signature(shard, name)) << name;
  }
}

TEST(PlanSignatures, ReplicatedKvHeadsAreOneAGpu) {
  const StepPlan eight = plan_of("Qwen/Qwen3-30B-A3B", {.tensor_parallel = 8});  // 4 KV heads on 8 GPUs
  EXPECT_EQ(entry(eight, "attention").key.dims, (std::vector<std::uint64_t>{4, 1, 128}));
  EXPECT_EQ(entry(eight, "qkv_proj").key.dims, (std::vector<std::uint64_t>{2048, 6 * 128}));
  EXPECT_EQ(eight.kv_bytes_per_token, 48 * 2 * 128 * 2);
}

/// As vLLM's FlashAttention: no window where the longest context is no longer. Ministral-8B's windows of 32,768 are
/// such.
TEST(PlanSignatures, AWindowThatHidesNothingIsNone) {
  const auto of = [](const char* window) {
    const std::string config = fmt::format(
        R"({{"model_type": "mistral", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 640,
            "max_position_embeddings": 4096, "sliding_window": {}}})",
        window);
    return make_plan(parse_model(config, "m"), {});
  };
  const StepPlan without = of("null");
  EXPECT_EQ(signature(of("4096"), "attention"), signature(without, "attention"));
  EXPECT_NE(signature(of("4095"), "attention (window 4095)"), signature(without, "attention"));
}

std::string gemma2(const std::string& more) {
  return R"({"model_type": "gemma2", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 640, "sliding_window": 128,
    "max_position_embeddings": 4096)" +
         more + "}";
}

TEST(PlanSignatures, WindowScaleSoftCapTypesAndBackendTellAttentionApart) {
  const auto attention = [](const std::string& more, const PlanSettings& settings, const std::string& name) {
    return signature(make_plan(parse_model(gemma2(more), "m"), settings), name);
  };
  std::vector<Signature> all{
      attention("", {}, "attention"),
      attention("", {}, "attention (window 128)"),
      attention(R"(, "query_pre_attn_scalar": 144)", {}, "attention"),
      attention(R"(, "attn_logit_softcapping": 20.0)", {}, "attention"),
      attention("", {.dtype = "float16"}, "attention"),
      attention("", {.kv_dtype = "fp8"}, "attention"),
      attention("", {.backend = "flashinfer"}, "attention"),
      attention("", {.block_size = 32}, "attention"),
  };
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  // A scale that is the default is not written, however it is given.
  EXPECT_EQ(attention(R"(, "query_pre_attn_scalar": 64)", {}, "attention"),
            signature_of(attention_key("bfloat16", "bfloat16",
                                       {.heads = 4, .kv_heads = 2, .head_dim = 64, .soft_cap = 50}, "fa3")));
}

TEST(PlanSignatures, BackEndTorchIsLibTorchThroughoutButForCollectives) {
  const StepPlan plan = plan_of("Qwen/Qwen3-30B-A3B", {.backend = "torch", .tensor_parallel = 2});
  EXPECT_EQ(plan.backend, "torch");
  for (const PlanEntry& each : plan.entries) {
    EXPECT_EQ(each.key.family == "torch", each.binding != Binding::kCollective) << line(each);
    EXPECT_EQ(each.signature, signature_of(each.key)) << line(each);
  }
}

TEST(WithBackend, IsThePlanOfThatBackend) {
  for (const char* name : {"meta-llama/Llama-3.1-8B", "CohereForAI/c4ai-command-r7b-12-2024", "Qwen/Qwen3-30B-A3B",
                           "deepseek-ai/DeepSeek-V3"}) {
    for (const std::string_view to : plan_backends())
      for (const std::string_view from : plan_backends()) {
        const StepPlan plan = plan_of(name, {.backend = std::string(from), .tensor_parallel = 2});
        SCOPED_TRACE(std::string(name) + " " + plan.backend + " to " + std::string(to));
        if (from == "torch" && to != "torch") {
          EXPECT_THROW(with_backend(plan, to), OracleError);
        } else {
          EXPECT_EQ(plan_json(with_backend(plan, to)),
                    plan_json(plan_of(name, {.backend = std::string(to), .tensor_parallel = 2})));
        }
      }
    EXPECT_THROW(with_backend(plan_of(name), "fa9"), OracleError);
  }
}

TEST(PlanSignatures, QuantisedLinearsHaveTheirOwn) {
  const auto model = [](const std::string& more) {
    return parse_model(R"({"model_type": "qwen3", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 1,
      "num_attention_heads": 4, "head_dim": 64, "vocab_size": 640, "max_position_embeddings": 4096)" +
                           more + "}",
                       "m");
  };
  const StepPlan plain = make_plan(model(""), {});
  const StepPlan fp8 = make_plan(model(R"(, "quantization_config": {"quant_method": "fp8"})"), {});
  const StepPlan block =
      make_plan(model(R"(, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]})"), {});
  EXPECT_EQ(entry(fp8, "qkv_proj").key, linear_key({"bfloat16", "fp8", "bfloat16"}, 256, 768));
  EXPECT_EQ(entry(fp8, "qkv_proj").key.family, "cutlass");
  EXPECT_EQ(entry(block, "down_proj").key.dtypes[1], "fp8_block");
  EXPECT_NE(signature(plain, "qkv_proj"), signature(fp8, "qkv_proj"));
  EXPECT_NE(signature(block, "qkv_proj"), signature(fp8, "qkv_proj"));
  EXPECT_EQ(signature(plain, "lm_head"), signature(fp8, "lm_head"));  // never quantised
  EXPECT_LT(entry(fp8, "qkv_proj").weight_bytes, 0.51 * entry(plain, "qkv_proj").weight_bytes);
}

// --- experts over ranks, stages

TEST(ExpertParallel, WholeExpertsOnEachGpu) {
  const StepPlan plan = plan_of("Qwen/Qwen3-30B-A3B", {.tensor_parallel = 4, .expert_parallel = 4});
  const PlanEntry& experts = entry(plan, "moe_experts");
  EXPECT_EQ(experts.key.dims, (std::vector<std::uint64_t>{2048, 768, 32, 8}));
  EXPECT_EQ(std::get<std::int64_t>(experts.key.attributes.at("experts")), 128);
  EXPECT_EQ(experts.flops_per_token, 2.0 * 3 * 2048 * 768 * 2);  // two of a token's eight experts are here
  EXPECT_EQ(experts.rows_per_token, 1u);                         // every rank holds every token
  EXPECT_EQ(entry(plan, "all_reduce").count, 97u);
}

TEST(ExpertParallel, DataParallelRanksGatherAndScatterTokens) {
  const StepPlan plan = plan_of("Qwen/Qwen3-30B-A3B", {.tensor_parallel = 2, .expert_parallel = 8});
  EXPECT_EQ(entry(plan, "moe_experts").rows_per_token, 4u);
  EXPECT_EQ(entry(plan, "experts_gather").key.dims, (std::vector<std::uint64_t>{4}));
  EXPECT_EQ(entry(plan, "experts_gather").bytes_per_token, 4096);
  EXPECT_EQ(entry(plan, "experts_scatter").bytes_per_token, 4 * 4096);
  EXPECT_EQ(entry(plan, "experts_scatter").count, 48u);
}

TEST(ExpertParallel, WhatTheEngineCannotDoIsRefused) {
  EXPECT_THROW(plan_of("meta-llama/Llama-3.1-8B", {.expert_parallel = 2}), OracleError);
  EXPECT_THROW(plan_of("Qwen/Qwen3-30B-A3B", {.tensor_parallel = 4, .expert_parallel = 2}), OracleError);
  EXPECT_THROW(plan_of("Qwen/Qwen3-30B-A3B", {.expert_parallel = 256}), OracleError);
}

TEST(PipelineStages, TheRestGoesToStagesBeforeTheLast) {
  EXPECT_EQ(stage_layers(32, 4), (std::vector<std::uint32_t>{8, 8, 8, 8}));
  EXPECT_EQ(stage_layers(61, 4), (std::vector<std::uint32_t>{15, 15, 16, 15}));
  EXPECT_EQ(stage_layers(31, 4), (std::vector<std::uint32_t>{8, 8, 8, 7}));
  EXPECT_EQ(stage_layers(3, 1), (std::vector<std::uint32_t>{3}));
}

TEST(PipelineStages, TogetherTheyAreTheModel) {
  for (const char* name : {"meta-llama/Llama-3.1-8B", "Qwen/Qwen3-0.6B", "deepseek-ai/DeepSeek-V3"}) {
    PlanSettings settings{.tensor_parallel = 2, .pipeline_parallel = 4};
    const StepPlan whole = plan_of(name, {.tensor_parallel = 2});
    StepPlan sum;
    double flops = 0, whole_flops = 0;
    std::set<std::string> names;
    for (settings.stage = 0; settings.stage < 4; ++settings.stage) {
      const StepPlan plan = plan_of(name, settings);
      EXPECT_EQ(plan.first_layer, sum.dense_layers + sum.moe_layers);
      sum.parameters += plan.parameters;
      sum.kv_bytes_per_token += plan.kv_bytes_per_token;
      sum.dense_layers += plan.dense_layers;
      sum.moe_layers += plan.moe_layers;
      for (const PlanEntry& e : plan.entries) flops += e.count * e.flops_per_token;
      for (const PlanEntry& e : plan.entries) names.insert(std::to_string(settings.stage) + e.name);
    }
    for (const PlanEntry& e : whole.entries) whole_flops += e.count * e.flops_per_token;
    EXPECT_EQ(sum.parameters, parameter_count(find_model(name)));
    EXPECT_EQ(sum.kv_bytes_per_token, whole.kv_bytes_per_token);
    EXPECT_EQ(sum.dense_layers, whole.dense_layers);
    EXPECT_EQ(sum.moe_layers, whole.moe_layers);
    EXPECT_DOUBLE_EQ(flops, whole_flops);
    EXPECT_TRUE(names.contains("0embedding") && names.contains("3lm_head") && names.contains("2stage_send"));
    EXPECT_FALSE(names.contains("1embedding") || names.contains("2lm_head") || names.contains("3stage_send"));
  }
}

TEST(PipelineStages, HiddenStatesAndResidualTravelInShares) {
  const StepPlan plan = plan_of("meta-llama/Llama-3.1-8B", {.tensor_parallel = 2, .pipeline_parallel = 2, .stage = 0});
  EXPECT_EQ(entry(plan, "stage_send").bytes_per_token, 2 * 4096 * 2 / 2);
  const StepPlan next = plan_of("meta-llama/Llama-3.1-8B", {.tensor_parallel = 2, .pipeline_parallel = 2, .stage = 1});
  EXPECT_EQ(entry(next, "stage_gather").bytes_per_token, 2 * 4096 * 2 / 2);
  EXPECT_EQ(entry(next, "input_norm").count, 16u);  // all with the residual
  EXPECT_THROW(plan_of("meta-llama/Llama-3.1-8B", {.pipeline_parallel = 2, .stage = 2}), OracleError);
  EXPECT_THROW(plan_of("meta-llama/Llama-3.1-8B", {.pipeline_parallel = 33}), OracleError);
}

// --- refusals, JSON

TEST(MakePlan, RefusesByName) {
  const auto message = [](const PlanSettings& settings) -> std::string {
    try {
      plan_of("meta-llama/Llama-3.1-8B", settings);
    } catch (const OracleError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({.backend = "fa9"}).find("unknown attention backend 'fa9'; known: fa2, fa3"), std::string::npos);
  EXPECT_NE(message({.dtype = "fp8"}).find("got 'fp8'"), std::string::npos);
  EXPECT_NE(message({.tensor_parallel = 3}).find("3 does not divide"), std::string::npos);
  EXPECT_NE(message({.tensor_parallel = 0}).find("at least 1"), std::string::npos);
  EXPECT_NE(message({.pipeline_parallel = 0}).find("at least 1"), std::string::npos);
  EXPECT_EQ(message({.backend = "FLASH_ATTN"}), "");
}

TEST(MakePlan, QuantisationBlocksAreNotCut) {
  const ModelConfig model = find_model("deepseek-ai/DeepSeek-V3");  // experts 2048 wide
  EXPECT_NO_THROW(make_plan(model, {.tensor_parallel = 16}));
  EXPECT_THROW(make_plan(model, {.tensor_parallel = 32}), OracleError);
  EXPECT_NO_THROW(make_plan(model, {.tensor_parallel = 8, .expert_parallel = 32}));
}

TEST(PlanJson, ComesBackAsItWas) {
  for (const char* name : {"meta-llama/Llama-3.1-8B", "deepseek-ai/DeepSeek-V3", "google/gemma-2-9b"}) {
    const StepPlan plan = plan_of(name, {.tensor_parallel = 2});
    const std::string text = plan_json(plan);
    const StepPlan again = parse_plan(text);
    EXPECT_EQ(plan_json(again), text);
    ASSERT_EQ(again.entries.size(), plan.entries.size());
    for (std::size_t i = 0; i < plan.entries.size(); ++i) {
      EXPECT_EQ(again.entries[i].key, plan.entries[i].key);
      EXPECT_EQ(again.entries[i].signature, plan.entries[i].signature);
      EXPECT_EQ(again.entries[i].flops_per_token, plan.entries[i].flops_per_token);
      EXPECT_EQ(again.entries[i].binding, plan.entries[i].binding);
    }
    EXPECT_EQ(again.modules.size(), plan.modules.size());
    EXPECT_FALSE(again.backend_is_default);
    StepPlan free = plan;
    free.backend_is_default = true;
    EXPECT_TRUE(parse_plan(plan_json(free)).backend_is_default);
  }
}

TEST(PlanJson, DamageIsNamed) {
  const std::string text = plan_json(plan_of("meta-llama/Llama-3.1-8B"));
  const auto message = [](const std::string& json) -> std::string {
    try {
      parse_plan(json);
    } catch (const OracleError& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return message(changed);
  };
  EXPECT_NE(message("{").find("step plan: no JSON"), std::string::npos);
  EXPECT_EQ(message("[]"), "step plan: the file: must be an object");
  EXPECT_NE(with("\"backend\"", "\"bakend\"").find("step plan: bakend: unknown; allowed: dooly_plan, model, backend, "),
            std::string::npos);
  EXPECT_EQ(with("{\n \"backend\"", "{\"stage\": 0,\n \"backend\""), "step plan: stage: given twice");
  EXPECT_NE(
      with("\"binding\"", "\"flops\": 1, \"binding\"").find("step plan: entries[0].flops: unknown; allowed: name, "),
      std::string::npos);
  EXPECT_EQ(with("\"binding\"", "\"count\": 1, \"binding\""), "step plan: count: given twice");
  EXPECT_NE(message("{}").find("'dooly_plan' is missing"), std::string::npos);
  EXPECT_NE(with("\"dooly_plan\": 1", "\"dooly_plan\": 9").find("format 9"), std::string::npos);
  EXPECT_NE(with("128256", "128257").find("entries[0].signature: is not that of the key"), std::string::npos);
  EXPECT_NE(with("\"binding\": \"tokens\"", "\"binding\": \"moons\"").find("entries[0].binding"), std::string::npos);
  EXPECT_NE(with("\"count\": 1", "\"count\": 0").find("entries[0].count"), std::string::npos);
}

// --- every public configuration

/// Parameters that an entry's key implies; a plan that forgets an operator does not reach the published count.
double parameters_of(const PlanEntry& e) {
  const auto& d = e.key.dims;
  const auto flag = [&](const char* name) { return e.key.attributes.contains(name); };
  const auto dim = [&](std::size_t i) { return static_cast<double>(d.at(i)); };
  const std::string& kind = e.key.kind;
  if (kind == "linear") return dim(0) * dim(1) + (flag("bias") ? dim(1) : 0);
  if (kind == "embedding") return dim(0) * dim(1);
  if (kind == "rms_norm") return e.name == "pre_router_norm" ? 0 : dim(0);  // that one has no weights
  if (kind == "layer_norm") return dim(0) * (flag("bias") ? 2 : 1);
  if (kind == "qk_norm") {
    if (flag("weightless")) return 0;
    return flag("across_heads") ? (dim(0) + dim(1)) * dim(2) : 2 * dim(2);
  }
  if (kind == "topk_softmax") return flag("bias") ? dim(0) : 0;
  if (kind == "attention") return flag("sinks") ? dim(0) : 0;
  if (kind == "moe_experts") {
    const double matrices = flag("gated") ? 2 : 3;
    return dim(2) * (matrices * dim(0) * dim(1) + (flag("bias") ? (matrices - 1) * dim(1) + dim(0) : 0));
  }
  if (kind == "bmm" && e.binding == Binding::kTokens) return dim(0) * dim(1) * dim(2);
  return 0;  // else absorbed projections are copies
}

TEST(PlanData, EveryConfigPlansWithAllItsParametersOrIsRefusedByName) {
  const std::filesystem::path root = dooly::test::data_path("data/models");
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "missing " << root;
  int planned = 0, refused = 0;
  for (const auto& folder : std::filesystem::directory_iterator(root)) {
    if (!folder.is_directory()) continue;
    SCOPED_TRACE(folder.path().filename().string());
    ModelConfig model;
    try {
      model = load_model_file(folder.path());
    } catch (const OracleError& error) {
      EXPECT_NE(std::string(error.what()).find("layers are not supported"), std::string::npos) << error.what();
      ++refused;
      continue;
    }
    const StepPlan plan = make_plan(model, {});
    double parameters = 0;
    for (const PlanEntry& e : plan.entries) parameters += e.count * parameters_of(e);
    const double padding = double(padded_vocabulary(model) - model.vocabulary);
    const double tables = model.tied_embeddings ? 2 : 1;  // the tied matrix stands in two entries
    parameters -= padding * model.hidden * 2;
    if (model.lm_head_bias) parameters -= padding;
    if (tables == 2) parameters -= double(model.vocabulary) * model.hidden;
    EXPECT_EQ(static_cast<std::uint64_t>(parameters), parameter_count(model));
    EXPECT_EQ(plan.parameters, parameter_count(model));
    EXPECT_DOUBLE_EQ(
        plan.kv_bytes_per_token,
        kv_cache_layout(model, 1, model.dtype == DType::kFloat32 ? DType::kBfloat16 : model.dtype, 16).bytes_per_token);
    const std::string text = plan_json(plan);
    EXPECT_EQ(plan_json(parse_plan(text)), text);
    EXPECT_EQ(plan_json(with_backend(plan, "flashinfer")), plan_json(make_plan(model, {.backend = "flashinfer"})));
    EXPECT_EQ(plan_json(with_backend(make_plan(model, {.backend = "flashinfer"}), "fa3")), text);
    ++planned;
  }
  EXPECT_GE(planned, 60);
  EXPECT_EQ(refused, 4);
}

TEST(PlanData, ShippedModelsPlanAsTheirFiles) {
  const std::filesystem::path root = dooly::test::data_path("data/models");
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "missing " << root;
  for (const auto& folder : std::filesystem::directory_iterator(root)) {
    std::string name = folder.path().filename().string();
    if (!folder.is_directory() || name.find("--") == std::string::npos) continue;
    name = name.substr(0, name.find("--")) + '/' + name.substr(name.find("--") + 2);
    if (!is_shipped_model(name)) continue;
    SCOPED_TRACE(name);
    EXPECT_EQ(lines(make_plan(load_model_file(folder.path()), {})), lines(make_plan(find_model(name), {})));
    std::vector<Signature> file, shipped;
    for (const PlanEntry& e : make_plan(load_model_file(folder.path()), {}).entries) file.push_back(e.signature);
    for (const PlanEntry& e : make_plan(find_model(name), {}).entries) shipped.push_back(e.signature);
    EXPECT_EQ(file, shipped);
  }
}

}  // namespace
}  // namespace dooly::oracle
