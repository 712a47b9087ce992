#include "oracle/gpu.hpp"

#include "oracle/oracle_error.hpp"

#include <gtest/gtest.h>
#include <string>

namespace dooly::oracle {
namespace {

TEST(Gpus, AreSortedAndComplete) {
  std::string_view last;
  for (const Gpu& gpu : shipped_gpus()) {
    EXPECT_LT(last, gpu.name);
    last = gpu.name;
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
    if (is_processor(gpu)) continue;
    EXPECT_GT(gpu.memory_bytes, 1e10) << gpu.name;
    EXPECT_GT(gpu.memory_bandwidth, 1e11) << gpu.name;
    EXPECT_GT(gpu.flops_16, 1e13) << gpu.name;
    EXPECT_GT(gpu.link_bandwidth, 1e10) << gpu.name;
    EXPECT_GT(gpu.multiprocessors, 0u) << gpu.name;
  }
}

TEST(Gpus, ShortNamesAndCase) {
  EXPECT_EQ(find_gpu("h200").name, "H200-SXM");
  EXPECT_EQ(find_gpu("A100").name, "A100-SXM-80GB");
  EXPECT_EQ(find_gpu("a100-pcie").name, "A100-PCIe-80GB");
}

TEST(Gpus, EveryProcessorIsTheEntryCpu) {
  EXPECT_TRUE(is_processor(find_gpu("cpu")));
  EXPECT_EQ(find_gpu("CPU Intel(R) Xeon(R) Processor @ 2.90GHz").name, "CPU");
  EXPECT_FALSE(is_processor(find_gpu("H200")));
  EXPECT_THROW(find_gpu("CPUs"), OracleError);
}

TEST(Gpus, UnknownNameListsTheKnown) {
  try {
    find_gpu("H300");
    FAIL();
  } catch (const OracleError& error) {
    EXPECT_NE(std::string(error.what()).find("unknown GPU 'H300'; known: A100-PCIe-80GB, "), std::string::npos);
  }
}

TEST(Gpus, PeakFallsBackToTheNextWiderFormat) {
  EXPECT_EQ(peak_flops(find_gpu("A100"), DType::kFp8), 312e12);
  EXPECT_EQ(peak_flops(find_gpu("H200"), DType::kFp8), 1979e12);
  EXPECT_EQ(peak_flops(find_gpu("H200"), DType::kMxfp4), 989e12);
}

TEST(Dtypes, AutoFollowsTheCheckpointAndTheGpu) {
  EXPECT_EQ(resolve_dtype("auto", DType::kFloat16, find_gpu("H200")), DType::kFloat16);
  EXPECT_EQ(resolve_dtype("auto", DType::kFloat32, find_gpu("H200")), DType::kBfloat16);
  EXPECT_EQ(resolve_dtype("auto", DType::kBfloat16, find_gpu("V100")), DType::kFloat16);
  EXPECT_THROW(resolve_dtype("bfloat16", DType::kBfloat16, find_gpu("V100")), OracleError);
  EXPECT_THROW(resolve_dtype("fp8", DType::kBfloat16, find_gpu("H200")), OracleError);
  EXPECT_EQ(resolve_kv_dtype("auto", DType::kBfloat16), DType::kBfloat16);
  EXPECT_EQ(resolve_kv_dtype("fp8_e4m3", DType::kBfloat16), DType::kFp8);
  EXPECT_THROW(parse_dtype("int3"), OracleError);
}

}  // namespace
}  // namespace dooly::oracle
