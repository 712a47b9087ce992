#include "profiling_kernels/cuda.hpp"
#include "profiling_trace/trace_report.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
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
