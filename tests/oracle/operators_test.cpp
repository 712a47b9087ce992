#include "oracle/operators.hpp"

#include "oracle/model_table.hpp"
#include "oracle/weights.hpp"
#include "tiny_model.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <random>

namespace dooly::oracle {
namespace {

using test::equal_decodes;
using test::tiny_model;

TEST(AttendedPairs, HandCounted) {
  // Three queries at positions 4, 5, 6.
  EXPECT_EQ(attended_pairs(AttentionKind::kFull, 0, 3, 3), 4 + 5 + 6);
  EXPECT_EQ(attended_pairs(AttentionKind::kSlidingWindow, 4, 3, 3), 4 + 4 + 4);
  EXPECT_EQ(attended_pairs(AttentionKind::kSlidingWindow, 5, 3, 3), 4 + 5 + 5);
  EXPECT_EQ(attended_pairs(AttentionKind::kChunkedLocal, 4, 3, 3), 4 + 1 + 2);
  EXPECT_EQ(attended_tokens(AttentionKind::kFull, 0, 3, 3), 6);
  EXPECT_EQ(attended_tokens(AttentionKind::kSlidingWindow, 2, 3, 3), 4);  // positions 3 to 6
  EXPECT_EQ(attended_tokens(AttentionKind::kChunkedLocal, 2, 3, 3), 4);
}

TEST(AttendedPairs, ChunksOfAPromptAddUpToTheWhole) {
  for (const AttentionKind kind : {AttentionKind::kFull, AttentionKind::kSlidingWindow, AttentionKind::kChunkedLocal}) {
    double sum = 0;
    for (std::uint64_t context = 0; context < 1000; context += 100) sum += attended_pairs(kind, 64, context, 100);
    EXPECT_DOUBLE_EQ(sum, attended_pairs(kind, 64, 0, 1000));
  }
}

TEST(ActiveExperts, ExpectedShareOfDistinctOnes) {
  EXPECT_DOUBLE_EQ(active_expert_share(4, 1, 0), 0);
  EXPECT_DOUBLE_EQ(active_expert_share(4, 1, 1), 0.25);
  EXPECT_DOUBLE_EQ(active_expert_share(4, 1, 2), 7.0 / 16);  // 1 − (3/4)²
  EXPECT_DOUBLE_EQ(active_expert_share(128, 8, 1), 1.0 / 16);
  EXPECT_DOUBLE_EQ(active_expert_share(8, 8, 5), 1);
  EXPECT_DOUBLE_EQ(active_expert_share(0, 0, 5), 1);
}

TEST(DecodeAttended, EqualContextsAreExact) {
  AttentionOperator window{AttentionKind::kSlidingWindow, 100, 1};
  EXPECT_NEAR(decode_attended(window, equal_decodes(5, 49)), 5 * 50, 1e-9);
  EXPECT_NEAR(decode_attended(window, equal_decodes(5, 499)), 5 * 100, 1e-9);
  AttentionOperator full{AttentionKind::kFull, 0, 1};
  EXPECT_EQ(decode_attended(full, equal_decodes(5, 499)), 2500);
}

TEST(DecodeAttended, NeverMoreThanTheTruthAndNeverNegative) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    const std::uint32_t window = 1 + random() % 500;
    BatchShape shape;
    shape.decodes = 1 + random() % 50;
    double truth = 0;
    for (std::uint32_t i = 0; i < shape.decodes; ++i) {
      const std::uint64_t context = random() % (random() % 4 == 0 ? 10000 : 300);
      shape.decode_context += context;
      shape.decode_context_squares += context * context;
      truth += std::min<double>(double(context) + 1, window);
    }
    const double bound = decode_attended({AttentionKind::kSlidingWindow, window, 1}, shape);
    EXPECT_GE(bound, 0);
    EXPECT_LE(bound, truth * (1 + 1e-9) + 1e-6);
  }
}

TEST(StepWork, TinyModelByHand) {
  // FLOPs of a token: qkv 2·8·16, output 2·8·8, gate and up 2·8·32, down 2·16·8 = 1152; logits row 2·8·64 = 1024.
  // A decode on 9 cached tokens attends to 10: 4 · 8 · 10 = 320.
  const StepOperators operators = step_operators(tiny_model(), {});
  const Work work = step_work(operators, equal_decodes(1, 9));
  EXPECT_DOUBLE_EQ(work.flops, 1152 + 1024 + 320);
  // Bytes: embedding 32, norms 32 + 64 (the second adds the residual), qkv 304, rotary 48, cache 16 + 16, output 160,
  // gate and up 592, activation 96, down 304, final norm 64; head 1168, sampling 640; KV 10 × 16.
  EXPECT_DOUBLE_EQ(work.bytes, 1728 + 1808 + 160);
  EXPECT_DOUBLE_EQ(step_work(operators, BatchShape{}).bytes, 0);
}

TEST(StepWork, FlopsOfALargeModelAreTwiceItsActiveWeights) {
  // Qwen3-30B-A3B: 3.3B weights active a token (model card); without the embedding 3.04B.
  const StepOperators operators = step_operators(find_model("Qwen/Qwen3-30B-A3B"), {});
  const Work work = step_work(operators, equal_decodes(1, 0));
  EXPECT_NEAR(work.flops / 2, 3.04e9, 0.03e9);
}

TEST(StepWork, DecodeReadsEveryWeightOnce) {
  const ModelConfig model = find_model("meta-llama/Llama-3.1-8B");
  const StepOperators operators = step_operators(model, {});
  const double weights = 2.0 * (8'030'261'248.0 - 128256.0 * 4096);  // the embedding is looked up, not read
  const Work work = step_work(operators, equal_decodes(1, 0));
  EXPECT_NEAR(work.bytes / weights, 1, 0.001);
}

TEST(StepWork, TensorParallelSplitsTheWork) {
  const ModelConfig model = find_model("meta-llama/Llama-3.1-70B");
  const double one = step_work(step_operators(model, {.tensor_parallel = 1}), equal_decodes(4, 1000)).flops;
  const double eight = step_work(step_operators(model, {.tensor_parallel = 8}), equal_decodes(4, 1000)).flops;
  EXPECT_NEAR(eight / one, 1.0 / 8, 1e-9);
}

TEST(StepWork, SparseAttentionStopsGrowingAtItsTopK) {
  const ModelConfig model = parse_model(R"({"model_type": "deepseek_v32", "hidden_size": 64, "intermediate_size": 64,
    "num_hidden_layers": 1, "num_attention_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8, "v_head_dim": 16, "index_n_heads": 2, "index_head_dim": 128, "index_topk": 100,
    "vocab_size": 64, "max_position_embeddings": 100000})",
                                        "m");
  const StepOperators operators = step_operators(model, {});
  ASSERT_EQ(operators.attention.size(), 2u);
  const double near = step_work(operators, equal_decodes(1, 999)).bytes;
  const double far = step_work(operators, equal_decodes(1, 1999)).bytes;
  EXPECT_NEAR(far - near, 1000 * (128 + 4), 1e-6);  // only the indexer's keys
}

}  // namespace
}  // namespace dooly::oracle
