#include "oracle/model_config.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/weights.hpp"

#include <gtest/gtest.h>
#include <string>

namespace dooly::oracle {
namespace {

std::string error_of(std::string_view json) {
  try {
    parse_model(json, "m");
  } catch (const OracleError& error) {
    return error.what();
  }
  return "no error";
}

struct Published {
  const char* model;
  std::uint64_t parameters;
};

// Published totals: the parameter count that the model's hub page derives from its safetensors files, where the page
// shows one (text model, without multi-token prediction), else the paper's: DeepSeek-V3 671B (arXiv:2412.19437),
// gpt-oss 20.91B and 116.83B (arXiv:2508.10925, table 1).
class PublishedCount : public testing::TestWithParam<Published> {};

TEST_P(PublishedCount, IsWhatTheShapesAddUpTo) {
  EXPECT_EQ(parameter_count(find_model(GetParam().model)), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, PublishedCount,
    testing::Values(
        Published{"meta-llama/Llama-3.1-8B", 8'030'261'248}, Published{"meta-llama/Llama-3.1-70B", 70'553'706'496},
        Published{"meta-llama/Llama-3.1-405B", 405'853'388'800}, Published{"meta-llama/Llama-2-7b-hf", 6'738'415'616},
        Published{"meta-llama/Llama-2-13b-hf", 13'015'864'320}, Published{"meta-llama/Llama-2-70b-hf", 68'976'648'192},
        Published{"Qwen/Qwen3-8B", 8'190'735'360}, Published{"Qwen/Qwen3-14B", 14'768'307'200},
        Published{"Qwen/Qwen3-32B", 32'762'123'264}, Published{"Qwen/Qwen3-30B-A3B", 30'532'122'624},
        Published{"Qwen/Qwen3-235B-A22B", 235'093'634'560}, Published{"Qwen/Qwen2.5-7B", 7'615'616'512},
        Published{"Qwen/Qwen2.5-72B", 72'706'203'648}, Published{"mistralai/Mistral-7B-v0.1", 7'241'732'096},
        Published{"mistralai/Mistral-7B-Instruct-v0.3", 7'248'023'552},
        Published{"mistralai/Ministral-8B-Instruct-2410", 8'019'808'256},
        Published{"mistralai/Mixtral-8x7B-v0.1", 46'702'792'704},
        Published{"CohereForAI/c4ai-command-r7b-12-2024", 8'028'033'024},
        Published{"deepseek-ai/DeepSeek-V2-Lite", 15'706'484'224},
        Published{"deepseek-ai/DeepSeek-V3", 671'026'419'200}, Published{"google/gemma-2-9b", 9'241'705'984},
        Published{"facebook/opt-13b", 12'853'473'280}, Published{"microsoft/Phi-3-mini-4k-instruct", 3'821'079'552},
        Published{"Qwen/Qwen-72B", 72'287'920'128}, Published{"codellama/CodeLlama-34b-Instruct-hf", 33'743'970'304},
        Published{"microsoft/phi-2", 2'779'683'840}, Published{"openai/gpt-oss-20b", 20'914'757'184},
        Published{"openai/gpt-oss-120b", 116'829'156'672}));

TEST(ShippedModels, AllParseAndAreSortedByName) {
  std::string_view last;
  for (const ShippedModel& shipped : shipped_models()) {
    EXPECT_LT(last, shipped.name);
    last = shipped.name;
    EXPECT_NO_THROW(find_model(shipped.name)) << shipped.name;
    EXPECT_FALSE(shipped.source.empty());
  }
}

TEST(ShippedModels, MetaPrefixHfSuffixAndCaseAreOptional) {
  EXPECT_EQ(find_model("meta-llama/Meta-Llama-3.1-8B").name, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(find_model("meta-llama/llama-3.1-8b").name, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(find_model("meta-llama/Llama-3-8B").name, "meta-llama/Meta-Llama-3-8B");
  EXPECT_EQ(find_model("meta-llama/Llama-2-7b").name, "meta-llama/Llama-2-7b-hf");
}

TEST(ShippedModels, AMissingFileIsNotAnUnknownName) {
  for (const char* path : {"./config.json", "llama/conf.json", "/none/llama"}) {
    try {
      find_model(path);
      FAIL() << path;
    } catch (const OracleError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(path) + ": no such file"), std::string::npos)
          << error.what();
    }
  }
}

TEST(ShippedModels, UnknownNameListsTheNearest) {
  try {
    find_model("meta-llama/Llama-3.1-9B");
    FAIL();
  } catch (const OracleError& error) {
    EXPECT_NE(std::string(error.what()).find("meta-llama/Llama-3.1-8B"), std::string::npos) << error.what();
  }
}

TEST(ShippedModels, MissingFileNamesThePath) {
  try {
    resolve_model("no/such/config.json");
    FAIL();
  } catch (const OracleError& error) {
    EXPECT_NE(std::string(error.what()).find("no/such/config.json"), std::string::npos) << error.what();
  }
}

TEST(ParseModel, DerivesMissingHeadDimAndKvHeads) {
  const ModelConfig model = parse_model(R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 32})",
                                        "m");
  EXPECT_EQ(model.layers.size(), 2u);
  EXPECT_EQ(model.layers[0].attention.head_dim, 16u);
  EXPECT_EQ(model.layers[0].attention.kv_heads, 4u);
  EXPECT_EQ(model.dtype, DType::kBfloat16);
}

TEST(ParseModel, CommandR7bAttendsFullyInEveryFourthLayer) {
  const ModelConfig model = find_model("CohereForAI/c4ai-command-r7b-12-2024");
  for (std::size_t i = 0; i < 32; ++i) {
    const AttentionShape& attention = model.layers[i].attention;
    EXPECT_EQ(attention.kind, i % 4 == 3 ? AttentionKind::kFull : AttentionKind::kSlidingWindow) << i;
    EXPECT_EQ(attention.window, i % 4 == 3 ? 0u : 4096u) << i;
  }
  EXPECT_EQ(model.layer_classes().size(), 2u);
  EXPECT_TRUE(model.tied_embeddings);
}

TEST(ParseModel, LayerTypesOverruleThePattern) {
  const ModelConfig model = parse_model(R"({"model_type": "gemma2", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 32,
    "sliding_window": 8, "layer_types": ["full_attention", "sliding_attention"]})",
                                        "m");
  EXPECT_EQ(model.layers[0].attention.kind, AttentionKind::kFull);
  EXPECT_EQ(model.layers[1].attention.kind, AttentionKind::kSlidingWindow);
}

TEST(ParseModel, SwitchedOffWindowIsFullAttention) {
  const std::string head =
      R"({"model_type": "qwen2", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3,
    "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 32, "sliding_window": 8,
    "max_window_layers": 1, "use_sliding_window": )";
  EXPECT_EQ(parse_model(head + "false}", "m").layer_classes().size(), 1u);
  const ModelConfig on = parse_model(head + "true}", "m");
  EXPECT_EQ(on.layers[0].attention.kind, AttentionKind::kFull);  // the first max_window_layers
  EXPECT_EQ(on.layers[1].attention.kind, AttentionKind::kSlidingWindow);
}

TEST(ParseModel, DeepSeekHasDenseFirstLayersAndSharedExperts) {
  const ModelConfig model = find_model("deepseek-ai/DeepSeek-V2-Lite");
  EXPECT_FALSE(model.layers[0].moe);
  EXPECT_EQ(model.layers[0].intermediate, 10944u);
  EXPECT_TRUE(model.layers[1].moe);
  EXPECT_EQ(model.moe_layers(), 26u);
  EXPECT_EQ(model.moe->shared_intermediate, 2u * 1408u);
  EXPECT_EQ(model.mla->kv_lora_rank, 512u);
}

TEST(ParseModel, NestedTextConfigComesFirst) {
  const ModelConfig model = parse_model(R"({"model_type": "gemma3", "torch_dtype": "bfloat16", "hidden_size": 1,
    "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
    "num_hidden_layers": 34, "sliding_window": 1024}})",
                                        "m");
  EXPECT_EQ(model.hidden, 2560u);
  EXPECT_EQ(model.vocabulary, 262208u);  // defaults of the family
  EXPECT_EQ(model.layers[0].attention.heads, 8u);
  EXPECT_EQ(model.layers[0].attention.kv_heads, 4u);
  EXPECT_EQ(model.layers[0].attention.head_dim, 256u);
  EXPECT_EQ(model.layers[5].attention.kind, AttentionKind::kFull);
  EXPECT_EQ(parameter_count(model), 3'880'263'168u);  // hub: 4.3B with the vision tower of 0.42B
}

TEST(ParseModel, QuantisedCheckpointsAreSmaller) {
  const ModelConfig v3 = find_model("deepseek-ai/DeepSeek-V3");
  EXPECT_EQ(v3.linear_format, DType::kFp8);
  const ModelConfig oss = find_model("openai/gpt-oss-120b");
  EXPECT_FALSE(oss.linear_format);
  EXPECT_EQ(oss.expert_format, DType::kMxfp4);
  // Model card: a checkpoint of 60.8 GiB (arXiv:2508.10925, table 1).
  EXPECT_NEAR(double(weight_bytes_per_gpu(oss, 1, DType::kBfloat16)) / 1073741824, 60.8, 0.3);
}

TEST(ParseModel, ErrorsNameModelKeyAndValue) {
  EXPECT_EQ(error_of("{"), error_of("{"));  // deterministic
  EXPECT_NE(error_of("{").find("model m: not a JSON file"), std::string::npos);
  EXPECT_EQ(error_of("[1]"), "model m: config is not a JSON object");
  EXPECT_EQ(error_of("{}"), "model m: model_type: missing");
  EXPECT_NE(error_of(R"({"model_type": "lama"})").find("unknown family 'lama'; known: cohere, "), std::string::npos);
  EXPECT_EQ(error_of(R"({"model_type": "llama"})"), "model m: hidden_size: missing");
  EXPECT_EQ(error_of(R"({"model_type": "llama", "hidden_size": -4})"),
            "model m: hidden_size: must be an integer from 1 to 1048576, got -4");
  EXPECT_EQ(error_of(R"({"model_type": "llama", "hidden_size": "8"})"),
            "model m: hidden_size: must be an integer from 1 to 1048576, got \"8\"");
  EXPECT_EQ(error_of(R"({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1000000000})"),
            "model m: num_hidden_layers: must be an integer from 1 to 4096, got 1000000000");
}

TEST(ParseModel, RefusesHybridsByName) {
  EXPECT_EQ(error_of(R"({"model_type": "nemotron_h", "time_step_limit": [0.0, Infinity]})"),
            "model m: model_type: nemotron_h: Mamba layers are not supported");
  EXPECT_EQ(error_of(R"({"model_type": "qwen3_next"})"),
            "model m: model_type: qwen3_next: linear-attention layers are not supported");
}

TEST(ParseModel, RefusesUnknownQuantisation) {
  EXPECT_NE(error_of(R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "vocab_size": 64, "max_position_embeddings": 128,
    "quantization_config": {"quant_method": "awq"}})")
                .find("quantization_config.quant_method: 'awq' is not supported; known: fp8, mxfp4"),
            std::string::npos);
}

TEST(Weights, TensorParallelSplitsMatricesAndReplicatesFewKvHeads) {
  const ModelConfig model = find_model("meta-llama/Llama-3.1-8B");
  const LayerShape layer = model.layers[0];
  // TP 16: q and o 4096 × 256 each, 1 of 8 KV heads on every GPU (4096 × 128, twice), MLP 3 × 4096 × 896.
  EXPECT_EQ(layer_weights(model, layer, 16).linear, 2u * 4096 * 256 + 2u * 4096 * 128 + 3u * 4096 * 896);
  EXPECT_EQ(kv_heads_per_gpu(layer.attention, 16), 1u);
  EXPECT_EQ(kv_heads_per_gpu(layer.attention, 2), 4u);
}

TEST(Weights, RefusesSplitsThatTheEngineRefuses) {
  try {
    check_tensor_parallel(find_model("Qwen/Qwen2.5-7B"), 8);
    FAIL();
  } catch (const OracleError& error) {
    EXPECT_STREQ(error.what(),
                 "model Qwen/Qwen2.5-7B: tensor parallel size 8 does not divide the number of attention heads 28");
  }
}

TEST(Weights, VocabularyIsPaddedTo64) {
  ModelConfig model = find_model("facebook/opt-13b");
  EXPECT_EQ(padded_vocabulary(model), 50304u);  // 50272 = 785.5 × 64
}

}  // namespace
}  // namespace dooly::oracle
