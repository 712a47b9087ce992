#include "profiling_measure/drift_watch.hpp"
#include "profiling_measure/gpu_name.hpp"
#include "profiling_measure/kernel_family.hpp"
#include "profiling_measure/shuffle.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::profiling {
namespace {

TEST(GpuName, DriversNamesAreThoseOfTheTable) {
  EXPECT_EQ(table_gpu_name("NVIDIA H200"), "H200-SXM");
  EXPECT_EQ(table_gpu_name("NVIDIA H100 80GB HBM3"), "H100-SXM");
  EXPECT_EQ(table_gpu_name("NVIDIA Something 9"), "NVIDIA Something 9");
}

TEST(KernelFamily, SymbolsTellTheLibrary) {
  EXPECT_EQ(kernel_family({"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"}), "cublas");
  EXPECT_EQ(kernel_family({"_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90I"}), "fa3");
  EXPECT_EQ(kernel_family({"_ZN2at6native18elementwise_kernelI", "_ZN4vllm15rms_norm_kernelI"}), "vllm-c");
  EXPECT_EQ(kernel_family({"_ZN2at6native18elementwise_kernelI"}), "torch");
  EXPECT_EQ(kernel_family({"_ZN4vllm3moe27moe_align_block_size_kernelI", "fused_moe_kernel"}), "triton-fused-moe");
  EXPECT_EQ(kernel_family({}), "");
}

TEST(DriftWatch, ASlowReferenceIsSuspiciousUntilItRecovers) {
  DriftWatch watch(0.03, 10);
  EXPECT_TRUE(watch.is_due(0));
  EXPECT_TRUE(watch.accept(1e-3, 0));
  EXPECT_FALSE(watch.is_due(9));
  EXPECT_TRUE(watch.is_due(10));
  EXPECT_FALSE(watch.accept(1.05e-3, 10));
  EXPECT_EQ(watch.suspicion(), "the reference kernel is +5.0 % off its first time");
  EXPECT_TRUE(watch.accept(1.01e-3, 20));
  EXPECT_EQ(watch.suspicion(), "");
}

TEST(Shuffled, IsAPermutationAndTheSameEachTime) {
  auto order = shuffled<int>(100, 7);
  EXPECT_EQ(order, shuffled<int>(100, 7));
  EXPECT_NE(order, shuffled<int>(100, 8));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace dooly::profiling
