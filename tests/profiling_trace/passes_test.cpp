#include "profiling_trace/pass_check.hpp"

#include "profiling_kernels/kernels.hpp"
#include "profiling_trace/module_tree.hpp"
#include "profiling_trace/trace_model.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dooly::profiling {
namespace {

constexpr const char* kDense = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 500,
  "max_position_embeddings": 512, "torch_dtype": "float32", "hidden_act": "silu", "rms_norm_eps": 1e-6})";
constexpr const char* kExperts = R"({"model_type": "qwen3_moe", "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 500,
  "max_position_embeddings": 512, "torch_dtype": "float32", "hidden_act": "silu", "rms_norm_eps": 1e-6,
  "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 32, "norm_topk_prob": true,
  "mlp_only_layers": [0]})";

/// Attention in a latent: a step's decodes and prompts run in parts of their own.
constexpr const char* kLatent = R"({"model_type": "deepseek_v2", "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 500,
  "max_position_embeddings": 512, "torch_dtype": "float32", "hidden_act": "silu", "rms_norm_eps": 1e-6,
  "first_k_dense_replace": 1, "q_lora_rank": 40, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
  "v_head_dim": 12, "n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 3,
  "moe_intermediate_size": 48, "scoring_func": "softmax", "topk_method": "greedy"})";

Trace trace_of(const char* config, std::vector<TraceRequest> batch, TraceSettings settings = {}) {
  const oracle::ModelConfig model = oracle::parse_model(config, "small");
  const auto kernels = make_torch_kernels();
  settings.batch = std::move(batch);
  return trace_model(model, parse_numbers(config, model), *kernels, settings);
}

class Passes : public ::testing::TestWithParam<const char*> {};

TEST_P(Passes, OtherBatchesChangeWhatTheLabelsSay) {
  const Trace prefill = trace_of(GetParam(), prefill_batch());
  EXPECT_EQ(unlabelled_dims(prefill), std::vector<std::string>());
  for (const auto& batch : {decode_batch(), mixed_batch()}) {
    const PassCheck check = check_passes(prefill, trace_of(GetParam(), batch));
    EXPECT_EQ(check.contradictions, std::vector<std::string>());
    EXPECT_EQ(check.unchanged, std::vector<std::string>());
    EXPECT_GT(check.request_dims, 100U);
    EXPECT_GT(check.model_dims, 100U);
  }
}

TEST_P(Passes, OnTheCpuTheyAreTheSame) {
  TraceSettings cpu;
  cpu.device = c10::DeviceType::CPU;
  cpu.dtype = at::kFloat;
  TraceSettings meta = cpu;
  meta.device = c10::DeviceType::Meta;
  const Trace real = trace_of(GetParam(), mixed_batch(), cpu), shapes = trace_of(GetParam(), mixed_batch(), meta);
  ASSERT_EQ(real.operators.size(), shapes.operators.size());
  for (std::size_t i = 0; i < real.operators.size(); ++i) {
    EXPECT_EQ(operator_text(real.operators[i].record), operator_text(shapes.operators[i].record));
  }
}

TEST_P(Passes, WithoutTaintedSizesOfTheModelDimensionsAreUnlabelled) {
  TraceSettings settings;
  settings.tracer.config_taint = false;
  EXPECT_GT(unlabelled_dims(trace_of(GetParam(), mixed_batch(), settings)).size(), 100U);
}

TEST_P(Passes, WithoutMappingRulesDimensionsAreUnlabelled) {
  TraceSettings settings;
  settings.tracer.mapping_rules = false;
  EXPECT_GT(unlabelled_dims(trace_of(GetParam(), mixed_batch(), settings)).size(), 100U);
}

INSTANTIATE_TEST_SUITE_P(Small, Passes, ::testing::Values(kDense, kExperts, kLatent), [](const auto& model) {
  return model.index == 0 ? "dense" : model.index == 1 ? "experts" : "latent";
});

TEST(PassCheck, PartsThatAPassHasNotAreComparedWithAnother) {
  const Trace prefill = trace_of(kLatent, prefill_batch()), decode = trace_of(kLatent, decode_batch()),
              mixed = trace_of(kLatent, mixed_batch());
  const PassCheck without = check_passes(prefill, decode), with = check_passes(decode, mixed);
  EXPECT_EQ(without.alone.front(), "model.layers.0.self_attn.attn.prompts");
  EXPECT_EQ(with.alone.front(), "model.layers.0.self_attn.attn.prompts");
  EXPECT_EQ(with.contradictions, std::vector<std::string>());
  EXPECT_EQ(with.unchanged, std::vector<std::string>());
  EXPECT_GT(with.request_dims, without.request_dims);
  EXPECT_EQ(check_passes(prefill, prefill).alone, std::vector<std::string>());
}

TEST(PassCheck, ALabelThatIsWrongIsFound) {
  Trace first = trace_of(kDense, prefill_batch());
  const Trace second = trace_of(kDense, mixed_batch());
  TensorRecord& result = first.operators.front().record.outputs[0];
  result.dims[0].label = Expression::symbol("num_requests", Origin::kRequest);
  const PassCheck check = check_passes(first, second);
  ASSERT_EQ(check.contradictions.size(), 1U);
  EXPECT_NE(check.contradictions[0].find("is num_requests, then num_tokens"), std::string::npos);
}

TEST(PassCheck, EqualBatchesProveNothing) {
  const Trace trace = trace_of(kDense, prefill_batch());
  const PassCheck check = check_passes(trace, trace);
  const std::set<std::string> unchanged(check.unchanged.begin(), check.unchanged.end());
  EXPECT_TRUE(unchanged.contains("num_tokens"));
  EXPECT_TRUE(unchanged.contains("num_requests"));
  EXPECT_FALSE(unchanged.contains("hidden_size"));
}

TEST(PassCheck, APlainIntegerThatFollowsTheBatchIsFound) {
  Trace first = trace_of(kDense, prefill_batch());
  Trace second = trace_of(kDense, mixed_batch());
  first.operators[0].record.arguments.push_back({"rows", Dim{1, std::nullopt}, false});
  second.operators[0].record.arguments.push_back({"rows", Dim{2, std::nullopt}, false});
  const PassCheck check = check_passes(first, second);
  ASSERT_EQ(check.contradictions.size(), 1U);
  EXPECT_NE(check.contradictions[0].find("integer 'rows' is 1, then 2, and nobody knows why"), std::string::npos);
}

TEST(ModuleTree, EqualLayersAreFolded) {
  const Trace trace = trace_of(kDense, prefill_batch());
  const std::string text = trace_text(trace);
  EXPECT_NE(text.find("  layers.0: DecoderLayer\n"), std::string::npos) << text;  // its first norm adds nothing
  EXPECT_NE(text.find("  layers.1, layers.2: DecoderLayer (2 times)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("aten::linear(input BFloat16[num_tokens=41, hidden_size=64], weight "
                      "BFloat16[head_dim*num_heads + 2*head_dim*num_kv_heads=128, hidden_size=64]) -> "
                      "BFloat16[num_tokens=41, head_dim*num_heads + 2*head_dim*num_kv_heads=128]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("0 unlabelled dimensions\n"), std::string::npos);
}

TEST(ModuleTree, JsonIsTheSameEachTime) {
  const std::string once = trace_json(trace_of(kExperts, prefill_batch()));
  EXPECT_EQ(once, trace_json(trace_of(kExperts, prefill_batch())));
  EXPECT_NE(once.find("\"label\": \"2*expert_intermediate_size\""), std::string::npos);
}

}  // namespace
}  // namespace dooly::profiling
