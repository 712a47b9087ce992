#include "oracle/memory_plan.hpp"

#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"

#include <gtest/gtest.h>
#include <string>

namespace dooly::oracle {
namespace {

constexpr double kGiB = 1073741824.0;

// num_gpu_blocks of vLLM 0.26.0 on one H200 with default settings, as the engines logged them.
struct Measured {
  const char* model;
  double blocks;
  double weights_gib;
  double activation_gib;
};
class MeasuredPlan : public testing::TestWithParam<Measured> {};

TEST_P(MeasuredPlan, IsMetByTheFormulas) {
  const Measured measured = GetParam();
  const MemoryPlan plan = plan_memory(find_model(measured.model), find_gpu("H200-SXM"), {});
  EXPECT_NEAR(plan.blocks, measured.blocks, 0.001 * measured.blocks);
  EXPECT_NEAR(plan.lines[0].bytes / kGiB, 128.62, 0.01);
  EXPECT_NEAR(-plan.lines[1].bytes / kGiB, measured.weights_gib, 0.02);
  EXPECT_NEAR(-plan.lines[2].bytes / kGiB, measured.activation_gib, 0.02);
}

INSTANTIATE_TEST_SUITE_P(H200, MeasuredPlan,
                         testing::Values(Measured{"meta-llama/Llama-3.1-8B", 57489, 15.0, 1.1},
                                         Measured{"Qwen/Qwen3-8B", 50898, 15.27, 1.29},
                                         Measured{"Qwen/Qwen3-30B-A3B", 46542, 56.88, 2.68},
                                         Measured{"CohereForAI/c4ai-command-r7b-12-2024", 228062, 14.96, 2.08}));

TEST(MemoryPlan, LinesAddUp) {
  const MemoryPlan plan = plan_memory(find_model("Qwen/Qwen3-8B"), find_gpu("H200"), {});
  double sum = 0;
  for (const MemoryPlan::Line& line : plan.lines) sum += line.bytes;
  EXPECT_DOUBLE_EQ(sum, plan.kv_bytes);
  EXPECT_EQ(plan.blocks, static_cast<std::uint32_t>(plan.kv_bytes / double(plan.layout.block_bytes)));
}

TEST(MemoryPlan, TensorParallelGivesMoreBlocksThanTwice) {
  const ModelConfig model = find_model("meta-llama/Llama-3.1-8B");
  MemorySettings settings;
  const std::uint32_t one = plan_memory(model, find_gpu("H200"), settings).blocks;
  settings.tensor_parallel = 2;
  const MemoryPlan two = plan_memory(model, find_gpu("H200"), settings);
  // By hand: weights (8,030,261,248 − 266,240 norms) / 2 + 266,240 numbers + rotary table 131072 × 128, 2 B each = 7.51
  // GiB; 128.617 − 7.51 − 1.104 − 1.42 = 118.58 GiB of blocks of 1 MiB.
  EXPECT_NEAR(two.blocks, 121428, 20);
  EXPECT_GT(two.blocks, 2 * one);
}

TEST(MemoryPlan, LargeModelSplitOverEight) {
  MemorySettings settings;
  settings.tensor_parallel = 8;
  // Llama-3.1-70B: a GPU holds 16.5 GiB of weights and one KV head: blocks of 16 × 2 × 128 × 2 B × 80 = 640 KiB.
  const MemoryPlan plan = plan_memory(find_model("meta-llama/Llama-3.1-70B"), find_gpu("H100"), settings);
  EXPECT_EQ(plan.layout.block_bytes, 640u * 1024);
  EXPECT_NEAR(-plan.lines[1].bytes / kGiB, 16.46, 0.05);
}

TEST(MemoryPlan, WhatDoesNotFitSaysHowMuchIsMissingAndWhatWouldFit) {
  try {
    plan_memory(find_model("meta-llama/Llama-3.1-405B"), find_gpu("H200"), {});
    FAIL();
  } catch (const OracleError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("does not fit on H200-SXM with tensor parallel 1: weights 811.7 GB"), std::string::npos)
        << text;
    EXPECT_NE(text.find("GB are missing; the smallest tensor parallel size that fits is 8"), std::string::npos) << text;
  }
}

TEST(MemoryPlan, TooLongAModelLengthIsNamed) {
  MemorySettings settings;
  try {  // 40 GiB: weights fit, a cache for 131,072 tokens (16 GiB) does not
    settings.utilisation = 0.6;
    plan_memory(find_model("meta-llama/Llama-3.1-8B"), find_gpu("A100-SXM-40GB"), settings);
    FAIL();
  } catch (const OracleError& error) {
    EXPECT_NE(std::string(error.what()).find("cannot hold one request of max_model_len 131072"), std::string::npos)
        << error.what();
  }
  settings.max_model_len = 8192;
  EXPECT_GT(plan_memory(find_model("meta-llama/Llama-3.1-8B"), find_gpu("A100-SXM-40GB"), settings).blocks, 512u);
}

TEST(MemoryPlan, RefusesAbsurdSettings) {
  MemorySettings settings;
  settings.utilisation = 1.5;
  EXPECT_THROW(plan_memory(find_model("Qwen/Qwen3-8B"), find_gpu("H200"), settings), OracleError);
  settings = {};
  settings.tensor_parallel = 0;
  EXPECT_THROW(plan_memory(find_model("Qwen/Qwen3-8B"), find_gpu("H200"), settings), OracleError);
  settings = {};
  settings.block_size = 0;
  EXPECT_THROW(plan_memory(find_model("Qwen/Qwen3-8B"), find_gpu("H200"), settings), OracleError);
}

TEST(MemoryPlan, SmallerBatchesLeaveMoreForTheCache) {
  MemorySettings settings;
  const std::uint32_t normal = plan_memory(find_model("Qwen/Qwen3-8B"), find_gpu("H200"), settings).blocks;
  settings.max_num_seqs = 64;
  settings.max_num_batched_tokens = 2048;
  EXPECT_GT(plan_memory(find_model("Qwen/Qwen3-8B"), find_gpu("H200"), settings).blocks, normal);
}

}  // namespace
}  // namespace dooly::oracle
