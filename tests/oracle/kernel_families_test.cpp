#include "oracle/kernel_families.hpp"

#include "oracle/operator_keys.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace dooly::oracle {
namespace {

const LinearTypes kTypes{"bfloat16", "bfloat16", "bfloat16"};
const AttentionWork kWork{.heads = 32, .kv_heads = 8, .head_dim = 128};

OperatorKey attention(const std::string& family) { return attention_key("bfloat16", "bfloat16", kWork, family); }

TEST(KernelFamily, SymbolsTellTheLibrary) {
  EXPECT_EQ(kernel_family({"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"}), "cublas");
  EXPECT_EQ(kernel_family({"_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90I"}), "fa3");
  EXPECT_EQ(kernel_family({"_ZN2at6native18elementwise_kernelI", "_ZN4vllm15rms_norm_kernelI"}), "vllm-c");
  EXPECT_EQ(kernel_family({"_ZN2at6native18elementwise_kernelI"}), "torch");
  EXPECT_EQ(kernel_family({"_ZN4vllm3moe27moe_align_block_size_kernelI", "fused_moe_kernel"}), "triton-fused-moe");
  EXPECT_EQ(kernel_family({"kernel_unified_attention", "reduce_segments"}), "triton");
  EXPECT_EQ(kernel_family({"triton_combo_fused_0"}), "triton");
  EXPECT_EQ(kernel_family({}), "");
}

TEST(KernelFamily, UnknownSymbolsAreAFamilyOfTheirOwnWithoutTilesAndInstances) {
  EXPECT_EQ(kernel_family({"_ZN4mine6kernelILi128EEEvPf"}), "mine::kernel");
  EXPECT_EQ(kernel_family({"my_gemm_sm90_128x64_4x2_tn"}), "my_gemm_tn");
  EXPECT_EQ(kernel_family({"my_gemm_sm90_256x64_4x2_tn"}), "my_gemm_tn");
  EXPECT_EQ(kernel_family({"90"}), "90");
}

TEST(KernelFamily, IsHeldAgainstTheOneThatTheKeyNames) {
  const OperatorKey linear = linear_key(kTypes, 4096, 4096);
  EXPECT_EQ(family_match(linear, "cublas"), FamilyMatch::kSame);
  EXPECT_EQ(family_match(linear, ""), FamilyMatch::kSame);  // a processor's kernels have no symbols
  EXPECT_EQ(family_match(linear, "cutlass"), FamilyMatch::kSame);  // some of cuBLAS's own
  EXPECT_EQ(family_match(linear, "torch"), FamilyMatch::kOther);
  EXPECT_EQ(family_match(linear, "mine::kernel"), FamilyMatch::kUnknown);
  EXPECT_EQ(family_match(attention("fa3"), "fa3"), FamilyMatch::kSame);
  EXPECT_EQ(family_match(attention("fa3"), "fa2"), FamilyMatch::kOther);
  EXPECT_EQ(family_match(attention("torch"), "cublas"), FamilyMatch::kSame);  // a composition calls it
  EXPECT_EQ(family_match(linear_key(kTypes, 8, 8, false, "vllm-fp8-block"), "cutlass"),
            FamilyMatch::kSame);  // a dispatcher picks
}

TEST(KernelFamily, WhatStandsInForACompiledOperatorIsSaid) {
  const OperatorKey norm = layer_norm_key("bfloat16", 4096, false);
  ASSERT_EQ(norm.family, "inductor");
  EXPECT_EQ(family_match(norm, "triton"), FamilyMatch::kSame);
  EXPECT_EQ(family_match(norm, "torch"), FamilyMatch::kStandIn);
  EXPECT_EQ(family_match(norm, "vllm-c"), FamilyMatch::kStandIn);
  EXPECT_EQ(family_match(norm, "fa2"), FamilyMatch::kOther);
  EXPECT_EQ(family_finding(norm, "torch"), "ran kernels of torch, the key names inductor (a stand-in)");
  EXPECT_EQ(family_finding(norm, "fa2"), "ran kernels of fa2, the key names inductor");
  EXPECT_EQ(family_finding(norm, "mine"),
            "ran kernels of mine, which is no family that is known, the key names inductor");
  EXPECT_EQ(family_finding(norm, "triton"), "");
}

TEST(KernelLibraries, AreInTheEnvironmentOfWhatTheyRun) {
  Environment machine;
  machine.gpu = "H200-SXM";
  machine.libraries = {{"flashinfer", "0.6.14"}, {"torch", "2.11.0"}, {"triton", "3.6.0"}, {"vllm", "0.26.0"}};
  const auto libraries = [&](const OperatorKey& key) { return environment_of(key, machine).libraries; };
  const std::map<std::string, std::string> common = {{"torch", "2.11.0"}, {"vllm", "0.26.0"}};
  const auto with = [&](const char* name, const char* version) {
    auto all = common;
    all[name] = version;
    return all;
  };
  EXPECT_EQ(libraries(linear_key(kTypes, 4096, 4096)), common);
  EXPECT_EQ(libraries(attention("fa3")), common);
  EXPECT_EQ(libraries(attention("flashinfer")), with("flashinfer", "0.6.14"));
  EXPECT_EQ(libraries(attention("triton")), with("triton", "3.6.0"));
  EXPECT_EQ(libraries(moe_experts_key("bfloat16", "bfloat16",
                                      {.hidden = 64, .intermediate = 32, .local_experts = 8, .top_k = 2})),
            with("triton", "3.6.0"));
  EXPECT_EQ(libraries(qk_norm_key("bfloat16", {.heads = 8, .kv_heads = 2, .head_dim = 64})), with("triton", "3.6.0"));
  EXPECT_EQ(libraries(layer_norm_key("bfloat16", 4096, false)), common);  // LibTorch's stands in
  EXPECT_EQ(common_environment(machine).libraries, common);
}

}  // namespace
}  // namespace dooly::oracle
