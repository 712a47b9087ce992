#include "profiling_kernels/cuda.hpp"
#include "profiling_trace/trace_report.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace dooly::profiling {
namespace {

void expect_covered(const TraceRequestOptions& options) {
  const TraceReport report = report_trace(options);
  EXPECT_TRUE(report.is_proved()) << report.text;
  EXPECT_NE(report.text.find("  kernel "), std::string::npos);
  EXPECT_EQ(report.text.find("the host: "), std::string::npos);  // only the device's time counts
  EXPECT_NE(report.text.find("around the model"), std::string::npos);  // copies of the inputs at least
  ASSERT_TRUE(report.coverage);
  EXPECT_GT(*report.coverage, 0.98) << report.text;
  EXPECT_EQ(report.above_operator, 0) << report.text;
}

TEST(TraceOnAGpu, KernelsAreNamedAndCoverThePass) {
  std::string why;
  if (!cuda_available(&why)) GTEST_SKIP() << "no GPU: " << why;
  for (const char* model : {"Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B"})
    expect_covered({.config = model, .backend = "torch", .device = "cuda"});
}

/// All layers of a whole model, each distinct one run once.
TEST(TraceOnAGpu, KernelsOfTheEngineCoverThePass) {
  std::string why;
  if (!cuda_available(&why)) GTEST_SKIP() << "no GPU: " << why;
  const char* folder = std::getenv("DOOLY_VLLM_KERNELS");
  if (folder == nullptr) GTEST_SKIP() << "DOOLY_VLLM_KERNELS names no folder with the vLLM wheel's libraries";
  for (const char* model : {"meta-llama/Llama-3.1-8B", "CohereForAI/c4ai-command-r7b-12-2024"})
    expect_covered({.config = model, .backend = "fa3", .device = "cuda", .kernels = folder});
}

/// Latent attention without experts, which are compiled for whole models alone.
TEST(TraceOnAGpu, LatentAttentionOfTheEngineCoversThePass) {
  std::string why;
  if (!cuda_available(&why)) GTEST_SKIP() << "no GPU: " << why;
  const char* folder = std::getenv("DOOLY_VLLM_KERNELS");
  if (folder == nullptr) GTEST_SKIP() << "DOOLY_VLLM_KERNELS names no folder with the vLLM wheel's libraries";
  const auto path = std::filesystem::path(::testing::TempDir()) / "dooly_latent_config.json";
  std::ofstream(path) << R"({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
    "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 102400,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "hidden_act": "silu", "rms_norm_eps": 1e-6})";
  expect_covered({.config = path, .backend = "fa3", .device = "cuda", .kernels = folder});
}

/// Of the other back ends those that the folder holds.
class OtherBackEnds : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(OtherBackEnds, CoverThePassAndProveTheirLabels) {
  const auto [backend, needed] = GetParam();
  std::string why;
  if (!cuda_available(&why)) GTEST_SKIP() << "no GPU: " << why;
  const char* folder = std::getenv("DOOLY_VLLM_KERNELS");
  if (folder == nullptr) GTEST_SKIP() << "DOOLY_VLLM_KERNELS names no folder with the vLLM wheel's libraries";
  if (!std::filesystem::exists(std::filesystem::path(folder) / needed))
    GTEST_SKIP() << "DOOLY_VLLM_KERNELS has no " << needed;
  expect_covered({.config = "meta-llama/Llama-3.1-8B", .backend = backend, .device = "cuda", .kernels = folder});
}

INSTANTIATE_TEST_SUITE_P(TraceOnAGpu, OtherBackEnds,
                         ::testing::Values(std::pair{"fa2", "vllm_flash_attn/_vllm_fa2_C.abi3.so"},
                                           std::pair{"triton", "attention/attention.json"},
                                           std::pair{"flashinfer", "libdooly_flashinfer.so"}),
                         [](const auto& test) { return std::string(test.param.first); });

}  // namespace
}  // namespace dooly::profiling
