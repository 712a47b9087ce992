#include "oracle/kv_layout.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"

#include <gtest/gtest.h>

namespace dooly::oracle {
namespace {

constexpr std::uint64_t kKiB = 1024;

TEST(KvLayout, FullAttentionIsOneGroup) {
  const KvCacheLayout layout = kv_cache_layout(find_model("meta-llama/Llama-3.1-8B"), 1, DType::kBfloat16, 16);
  ASSERT_EQ(layout.groups.size(), 1u);
  EXPECT_EQ(layout.groups[0].kind, AttentionKind::kFull);
  EXPECT_EQ(layout.groups[0].layers, 32u);
  EXPECT_EQ(layout.block_bytes, 2048 * kKiB);      // 16 tokens × 2 × 8 heads × 128 × 2 B × 32 layers
  EXPECT_DOUBLE_EQ(layout.bytes_per_token, 131072);
}

TEST(KvLayout, TensorParallelSplitsHeadsUntilThereIsOne) {
  const ModelConfig model = find_model("meta-llama/Llama-3.1-8B");
  EXPECT_EQ(kv_cache_layout(model, 2, DType::kBfloat16, 16).block_bytes, 1024 * kKiB);
  EXPECT_EQ(kv_cache_layout(model, 8, DType::kBfloat16, 16).block_bytes, 256 * kKiB);
  EXPECT_EQ(kv_cache_layout(model, 16, DType::kBfloat16, 16).block_bytes, 256 * kKiB);  // replicated
}

TEST(KvLayout, Fp8HalvesTheBlock) {
  EXPECT_EQ(kv_cache_layout(find_model("meta-llama/Llama-3.1-8B"), 1, DType::kFp8, 16).block_bytes, 1024 * kKiB);
}

TEST(KvLayout, CommandR7bHasFourGroupsOfEightLayersInOnePool) {
  const KvCacheLayout layout =
      kv_cache_layout(find_model("CohereForAI/c4ai-command-r7b-12-2024"), 1, DType::kBfloat16, 16);
  ASSERT_EQ(layout.groups.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {  // the engine's own order: the kind of the first layer comes first
    EXPECT_EQ(layout.groups[i].kind, i < 3 ? AttentionKind::kSlidingWindow : AttentionKind::kFull) << i;
    EXPECT_EQ(layout.groups[i].window, i < 3 ? 4096u : 0u) << i;
    EXPECT_EQ(layout.groups[i].layers, 8u) << i;
  }
  EXPECT_EQ(layout.layers_per_group, 8u);
  EXPECT_EQ(layout.block_bytes, 512 * kKiB);
}

TEST(KvLayout, UnevenKindsArePaddedToTheRarest) {
  // Gemma-3-27B's 62 layers: 10 full, 52 windowed in ⌈52/10⌉ = 6 groups of layers i, i + 6, …: 9 9 9 9 8 8.
  const ModelConfig model = parse_model(R"({"model_type": "gemma3_text", "hidden_size": 5376, "head_dim": 128,
    "intermediate_size": 21504, "num_attention_heads": 32, "num_key_value_heads": 16, "num_hidden_layers": 62,
    "sliding_window": 1024})",
                                        "m");
  const KvCacheLayout layout = kv_cache_layout(model, 1, DType::kBfloat16, 16);
  ASSERT_EQ(layout.groups.size(), 7u);
  EXPECT_EQ(layout.groups[0].layers, 9u);
  EXPECT_EQ(layout.groups[3].layers, 9u);
  EXPECT_EQ(layout.groups[4].layers, 8u);
  EXPECT_EQ(layout.groups[6].kind, AttentionKind::kFull);
  EXPECT_EQ(layout.layers_per_group, 10u);
}

TEST(KvLayout, NearlyEqualKindsTakeTheMoreFrequentOnesSize) {
  const auto layout_of = [](const char* types) {
    const std::string json = std::string(R"({"model_type": "gpt_oss", "hidden_size": 64, "intermediate_size": 64,
      "num_local_experts": 4, "num_experts_per_tok": 1, "num_attention_heads": 4, "num_key_value_heads": 4,
      "head_dim": 16, "vocab_size": 64, "max_position_embeddings": 512, "sliding_window": 128,
      "num_hidden_layers": 5, "layer_types": )") +
                             types + "}";
    return kv_cache_layout(parse_model(json, "m"), 1, DType::kBfloat16, 16);
  };
  // 3 and 2 layers: 3 is not less than 1.5 × 2, so groups of 2; the three make two groups.
  const KvCacheLayout uneven =
      layout_of(R"(["full_attention","sliding_attention","full_attention","sliding_attention","full_attention"])");
  EXPECT_EQ(uneven.layers_per_group, 2u);
  EXPECT_EQ(uneven.groups.size(), 3u);
}

TEST(KvLayout, AllWindowedIsOneWindowedGroup) {
  const KvCacheLayout layout = kv_cache_layout(find_model("mistralai/Mistral-7B-v0.1"), 1, DType::kBfloat16, 16);
  ASSERT_EQ(layout.groups.size(), 1u);
  EXPECT_EQ(layout.groups[0].kind, AttentionKind::kSlidingWindow);
  EXPECT_EQ(layout.groups[0].window, 4096u);
}

TEST(KvLayout, LatentAttentionKeepsRankPlusRope) {
  const ModelConfig model = find_model("deepseek-ai/DeepSeek-V3");
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(model, model.layers[0], 1, DType::kBfloat16), (512 + 64) * 2);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(model, model.layers[0], 8, DType::kBfloat16), (512 + 64) * 2);  // not split
  EXPECT_EQ(kv_cache_layout(model, 8, DType::kBfloat16, 64).block_bytes, 64u * 576 * 2 * 61);
}

TEST(KvLayout, SmallerPagesGetLongerBlocks) {
  // Windowed layers: 2 × 8 heads × 256; full ones: 2 × 2 heads × 512, half of that, so 32 tokens a block.
  const ModelConfig model = parse_model(R"({"model_type": "gemma4_text", "hidden_size": 64, "intermediate_size": 64,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "global_head_dim": 512,
    "num_global_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 64, "max_position_embeddings": 512,
    "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"]})",
                                        "m");
  const KvCacheLayout layout = kv_cache_layout(model, 1, DType::kBfloat16, 16);
  ASSERT_EQ(layout.groups.size(), 2u);
  EXPECT_EQ(layout.groups[0].block_tokens, 16u);
  EXPECT_EQ(layout.groups[1].block_tokens, 32u);
  EXPECT_EQ(layout.block_bytes, 16u * 2 * 8 * 256 * 2);
}

}  // namespace
}  // namespace dooly::oracle
