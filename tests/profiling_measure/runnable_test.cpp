#include "profiling_measure/runnable.hpp"

#include "example_keys.hpp"
#include "idle_kernels.hpp"
#include "oracle/operator_keys.hpp"
#include "profiling_kernels/attention_backends.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace dooly::profiling {
namespace {

constexpr std::uint64_t kCache = 1 << 16;  // small: several copies even of small weights

TEST(MakeRunnable, EachKindRunsOnTheProcessor) {
  const auto kernels = make_torch_kernels();
  Inputs inputs(at::kCPU, kCache);
  for (const Example& example : examples("float32", *kernels)) {
    SCOPED_TRACE(example.name);
    inputs.begin(example.name);
    const Runnable runnable = make_runnable(example.key, example.point, *kernels, inputs);
    for (std::size_t copy = 0; copy < runnable.copies; ++copy) {
      const at::Tensor result = runnable.run(copy);
      ASSERT_GT(result.numel(), 0);
      EXPECT_TRUE(at::isfinite(result).all().item<bool>());
    }
  }
}

TEST(MakeRunnable, ResultsHaveTheShapeOfTheKind) {
  const auto kernels = make_torch_kernels();
  Inputs inputs(at::kCPU, kCache);
  const std::map<std::string, std::vector<std::int64_t>> shapes = {{"linear", {33, 192}},
                                                                   {"embedding", {17, 64}},
                                                                   {"silu_and_mul", {17, 256}},
                                                                   {"sample", {7}},
                                                                   {"decode", {5, 8, 64}},
                                                                   {"prefill", {140, 8, 64}},
                                                                   {"mixed", {76, 8, 64}},
                                                                   {"add", {17, 256}},
                                                                   {"topk_softmax", {19, 4}},
                                                                   {"moe_experts", {21, 64}},
                                                                   {"bmm to the latent", {4, 13, 512}},
                                                                   {"bmm from the latent", {4, 13, 128}},
                                                                   {"latent decode", {5, 4, 512}},
                                                                   {"latent prefill", {1200, 4, 128}}};
  std::size_t seen = 0;
  for (const Example& example : examples("float32", *kernels)) {
    if (const auto shape = shapes.find(example.name); shape != shapes.end()) {
      inputs.begin(example.name);
      EXPECT_EQ(make_runnable(example.key, example.point, *kernels, inputs).run(0).sizes(), shape->second)
          << example.name;
      ++seen;
    }
  }
  EXPECT_EQ(seen, shapes.size());
}

TEST(MakeRunnable, LibTorchTakesTheNormOfEachHeadOfQueriesAndKeys) {
  const auto kernels = make_torch_kernels();
  // One token of two query heads, a key head and a value head of two.
  const at::Tensor qkv = at::tensor({3.0F, 4.0F, 0.0F, 2.0F, 6.0F, 8.0F, 9.0F, 9.0F}).view({1, 8});
  const auto [queries, keys] = kernels->head_norms(qkv, {2, 1, 2});
  EXPECT_TRUE(queries.allclose(at::tensor({5.0F, 2.0F}).view({1, 2})));
  EXPECT_TRUE(keys.allclose(at::tensor({10.0F}).view({1, 1})));
  const auto across = kernels->head_norms(qkv, {2, 1, 2, true});
  EXPECT_TRUE(across.first.square().allclose(at::tensor({29.0F}).view({1, 1})));  // 9 + 16 + 0 + 4
  EXPECT_TRUE(across.second.allclose(at::tensor({10.0F}).view({1, 1})));
}

TEST(MakeRunnable, CopiesExceedTheCache) {
  const auto kernels = make_torch_kernels();
  Inputs inputs(at::kCPU, kCache);
  const auto key = oracle::linear_key({"float32", "float32", "float32"}, 64, 64, false, "torch");  // 16 KiB of weights
  const Runnable runnable = make_runnable(key, {4}, *kernels, inputs);
  EXPECT_EQ(runnable.copies, 12U);
  EXPECT_FALSE(runnable.run(0).equal(runnable.run(1)));
}

TEST(MakeRunnable, ADecodeReadsItsOwnBlocksOnly) {
  const auto kernels = make_torch_kernels();
  Inputs inputs(at::kCPU, kCache);
  const auto key = oracle::attention_key("float32", "float32", {.heads = 2, .kv_heads = 1, .head_dim = 16}, "torch");
  const Runnable runnable = make_runnable(key, {0, 0, 0, 3, 0, 0, 0}, *kernels, inputs);
  // Without a context each token attends to itself: its value, whatever the query.
  const at::Tensor out = runnable.run(0);
  EXPECT_TRUE(out.select(1, 0).allclose(out.select(1, 1)));
  EXPECT_FALSE(out.select(0, 0).allclose(out.select(0, 1)));
}

/// Remembers the longest sequence that attention is told of.
class ToldKernels final : public IdleKernels {
 public:
  ToldKernels() : IdleKernels("torch") {}
  at::Tensor attention(const at::Tensor& q, const at::Tensor&, const at::Tensor&, const AttentionMetadata& metadata,
                       const AttentionShape&) override {
    told = metadata.max_sequence;
    return q;
  }
  std::int64_t told = 0;
};

/// vLLM's captured graphs serve all lengths up to the model's: FlashAttention runs its kernel of windows there, also
/// where no context is as long as the window (8 to 14 % slower on an H200).
TEST(MakeRunnable, CapturedDecodesAreToldOfSequencesBeyondTheWindow) {
  ToldKernels kernels;
  Inputs inputs(at::kCPU, kCache);
  const auto told = [&](std::uint32_t window, const oracle::SamplePoint& point) {
    oracle::AttentionWork work{.heads = 2, .kv_heads = 1, .head_dim = 16};
    work.window = window;
    make_runnable(oracle::attention_key("float32", "float32", work, "torch"), point, kernels, inputs).run(0);
    return kernels.told;
  };
  EXPECT_EQ(told(64, {0, 0, 0, 3, 19}), 65);  // 3 decodes at 20 tokens
  EXPECT_EQ(told(64, {0, 0, 0, 3, 99}), 100);  // beyond the window anyway
  EXPECT_EQ(told(64, {0, 0, 0, 513, 19}), 20);  // more than a captured graph has
  EXPECT_EQ(told(64, {1, 8, 0, 3, 19}), 20);  // prompts are not captured whole
  EXPECT_EQ(told(0, {0, 0, 0, 3, 19}), 20);
}

TEST(CanRun, SaysWhatIsMissing) {
  const auto kernels = make_torch_kernels();
  std::string why;
  EXPECT_FALSE(can_run(oracle::linear_key({"fp8", "fp8", "bfloat16"}, 8, 8, false, "torch"), *kernels, why));
  EXPECT_NE(why.find("fp8"), std::string::npos);
  EXPECT_FALSE(can_run(oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 8, 8), *kernels, why));
  EXPECT_NE(why.find("cublas"), std::string::npos);
  EXPECT_FALSE(can_run(oracle::mla_index_key("fp8", "fp8", 2, 8, 8, 16), *kernels, why));
  EXPECT_NE(why.find("mla_index"), std::string::npos);
  oracle::AttentionWork sinks{.heads = 2, .kv_heads = 1, .head_dim = 16};
  sinks.sinks = true;
  EXPECT_FALSE(can_run(oracle::attention_key("float32", "float32", sinks, "torch"), *kernels, why));
  EXPECT_NE(why.find("sinks"), std::string::npos);
}

/// The same question without libraries and GPU, as a dry run asks it.
TEST(CanRun, IsKnownBeforeThereAreKernels) {
  oracle::AttentionWork work{.heads = 32, .kv_heads = 8, .head_dim = 128};
  work.scale = 0.0883883476483184;
  oracle::AttentionWork windowed = work;
  windowed.window = 4096;
  std::string why;
  for (const std::string_view backend : kAttentionBackends) {
    if (backend == "torch") continue;  // make_torch_kernels() needs neither
    const auto claims = make_vllm_claims(backend);
    EXPECT_TRUE(can_run(oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 8, 8), *claims, why)) << why;
    EXPECT_TRUE(can_run(oracle::attention_key("bfloat16", "bfloat16", work, backend), *claims, why)) << why;
    EXPECT_FALSE(can_run(oracle::linear_key({"fp8", "fp8", "bfloat16"}, 8, 8, false, "cublas"), *claims, why));
    EXPECT_NE(why.find("fp8"), std::string::npos) << why;
    EXPECT_EQ(can_run(oracle::attention_key("bfloat16", "bfloat16", windowed, backend), *claims, why),
              backend != "flashinfer");
  }
  EXPECT_NE(why.find("window 4096"), std::string::npos) << why;  // flashinfer comes last of them
  EXPECT_FALSE(can_run(oracle::attention_key("bfloat16", "bfloat16", work, "fa3"), *make_vllm_claims("fa2"), why));
  EXPECT_NE(why.find("these kernels (vllm-fa2) have fa2"), std::string::npos) << why;
}

}  // namespace
}  // namespace dooly::profiling
