#include "example_keys.hpp"
#include "profiling_kernels/cuda.hpp"
#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/inputs.hpp"
#include "profiling_measure/local_measurer.hpp"
#include "profiling_measure/runnable.hpp"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Kernels of the vLLM wheel are looked for in the folder $DOOLY_VLLM_KERNELS.
namespace dooly::profiling {
namespace {

constexpr std::uint64_t kCache = 1 << 20;

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; !cuda_available(&why)) {
      GTEST_SKIP() << "no GPU: " << why;
    }
    const char* folder = std::getenv("DOOLY_VLLM_KERNELS");
    if (folder == nullptr) {
      GTEST_SKIP() << "DOOLY_VLLM_KERNELS names no folder with the vLLM wheel's libraries";
    }
    settings_.device = "cuda";
    settings_.kernels = folder;
  }

  MeasureSettings settings_;
};

/// The result for inputs that depend on the seed alone.
at::Tensor result_of(const Example& example, Kernels& kernels) {
  at::manual_seed(7);
  Inputs inputs(at::kCUDA, kCache);
  return make_runnable(example.key, example.point, kernels, inputs).run(0).to(at::kFloat);
}

double relative_error(const at::Tensor& found, const at::Tensor& expected) {
  return found.sub(expected).norm().item<double>() / expected.norm().item<double>();
}

/// Triton kernels, which are there for the shapes of models alone.
bool is_compiled_for_models(const oracle::OperatorKey& key) {
  return key.kind == "moe_experts" || (key.kind == "qk_norm" && key.family == "inductor");
}

TEST_F(OnGpu, KernelsOfTheWheelComputeWhatLibTorchComputes) {
  const auto vllm = make_vllm_kernels(settings_.kernels, settings_.attention);
  const auto torch = make_torch_kernels();
  const auto ours = examples("bfloat16", *vllm), reference = examples("bfloat16", *torch);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    SCOPED_TRACE(ours[i].name);
    if (is_compiled_for_models(ours[i].key)) continue;
    const at::Tensor expected = result_of(reference[i], *torch), found = result_of(ours[i], *vllm);
    ASSERT_EQ(found.sizes(), expected.sizes());
    EXPECT_LT(relative_error(found, expected), 1e-2);
  }
}

class AttentionOnGpu : public OnGpu, public testing::WithParamInterface<const char*> {};

/// Attention as models have it, long enough that every back end splits sequences, and the small ones.
std::vector<Example> attention_examples(const Kernels& kernels) {
  std::vector<Example> all;
  for (const Example& example : examples("bfloat16", kernels)) {
    if (example.key.kind == "attention") all.push_back(example);
  }
  const oracle::AttentionWork wide{.heads = 32, .kv_heads = 8, .head_dim = 128};
  oracle::AttentionWork window = wide;
  window.window = 4096;
  const auto key = [&](const oracle::AttentionWork& work) {
    return oracle::attention_key("bfloat16", "bfloat16", work, kernels.family("attention"));
  };
  all.insert(all.end(), {{"one long decode", key(wide), {0, 0, 0, 1, 9001, 0, 0}},
                         {"ragged decodes", key(wide), {0, 0, 0, 9, 300, 2, 5003}},
                         {"many decodes", key(wide), {0, 0, 0, 200, 777, 20, 1500}},
                         {"a prompt", key(wide), {1, 2050, 0, 0, 0, 0, 0}},
                         {"chunks", key(wide), {2, 515, 1290, 0, 0, 0, 0}},
                         {"chunk and decodes", key(wide), {1, 700, 1301, 33, 900, 3, 2222}},
                         {"window behind", key(window), {1, 600, 5000, 12, 6000, 1, 300}},
                         {"decodes in a window", key(window), {0, 0, 0, 12, 6000, 1, 300}}});
  return all;
}

TEST_P(AttentionOnGpu, ComputesWhatLibTorchComputesOrRefusesByName) {
  std::unique_ptr<Kernels> vllm;
  try {
    vllm = make_vllm_kernels(settings_.kernels, GetParam());
  } catch (const ProfilingError& error) {
    GTEST_SKIP() << error.what();
  }
  if (std::string_view(GetParam()) == "triton" &&
      !std::filesystem::exists(std::filesystem::path(settings_.kernels) / "attention"))
    GTEST_SKIP() << settings_.kernels << " has no attention/, which scripts/triton-attention compiles";
  const bool has_windows = std::string_view(GetParam()) != "flashinfer";
  const auto torch = make_torch_kernels();
  const auto ours = attention_examples(*vllm), reference = attention_examples(*torch);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    SCOPED_TRACE(ours[i].name);
    std::string why;
    if (!has_windows && ours[i].key.attributes.contains("window")) {
      EXPECT_FALSE(can_run(ours[i].key, *vllm, why));
      EXPECT_NE(why.find("window"), std::string::npos) << why;
      continue;
    }
    ASSERT_TRUE(can_run(ours[i].key, *vllm, why)) << why;
    const at::Tensor expected = result_of(reference[i], *torch), found = result_of(ours[i], *vllm);
    ASSERT_EQ(found.sizes(), expected.sizes());
    const double error = relative_error(found, expected);
    EXPECT_LT(error, 1e-2);
    RecordProperty(ours[i].name, std::to_string(error));
    std::printf("%-10s %-22s error %.2e\n", GetParam(), ours[i].name.c_str(), error);
  }
}

INSTANTIATE_TEST_SUITE_P(BackEnds, AttentionOnGpu, testing::Values("fa3", "fa2", "triton", "flashinfer"));

TEST_F(OnGpu, FlashInferHasEachHeadSizeWithAndWithoutASoftCap) {
  std::unique_ptr<Kernels> kernels;
  try {
    kernels = make_vllm_kernels(settings_.kernels, "flashinfer");
  } catch (const ProfilingError& error) {
    GTEST_SKIP() << error.what();
  }
  const auto torch = make_torch_kernels();
  for (const std::uint64_t head_dim : {64, 128, 256}) {
    for (const double soft_cap : {0.0, 20.0}) {
      const oracle::AttentionWork work{
          .heads = 16, .kv_heads = 8, .head_dim = head_dim, .scale = 0.08, .soft_cap = soft_cap};
      const auto key = [&](const char* family) { return oracle::attention_key("bfloat16", "bfloat16", work, family); };
      const oracle::SamplePoint point{2, 300, 417, 6, 800, 1, 2100};
      if (std::string why; !can_run(key("flashinfer"), *kernels, why)) {
        std::printf("%s\n", why.c_str());  // compiled for other models
        continue;
      }
      const double error = relative_error(result_of({"", key("flashinfer"), point}, *kernels),
                                          result_of({"", key("torch"), point}, *torch));
      EXPECT_LT(error, 1e-2);
      std::printf("flashinfer heads of %d, cap %.0f: error %.2e\n", static_cast<int>(head_dim), soft_cap, error);
    }
  }
}

/// Those of the shares of two GPUs that are compiled.
TEST_F(OnGpu, FusedExpertsComputeWhatLibTorchComputes) {
  const auto vllm = make_vllm_kernels(settings_.kernels, settings_.attention);
  const auto torch = make_torch_kernels();
  const oracle::ExpertWork qwen{.hidden = 2048, .intermediate = 384, .local_experts = 128, .top_k = 8};
  const oracle::ExpertWork mixtral{.hidden = 4096, .intermediate = 7168, .local_experts = 8, .top_k = 2};
  for (const oracle::ExpertWork& work : {qwen, mixtral}) {
    for (const std::uint64_t tokens : {1, 37, 500}) {
      auto key = oracle::moe_experts_key("bfloat16", "bfloat16", work);
      if (std::string why; !can_run(key, *vllm, why)) GTEST_SKIP() << why;
      const oracle::SamplePoint point{tokens, tokens == 1 ? work.top_k : work.local_experts, 2};
      const at::Tensor found = result_of({"", key, point}, *vllm);
      key.family = "torch";
      EXPECT_LT(relative_error(found, result_of({"", key, point}, *torch)), 1e-2) << work.intermediate << ' ' << tokens;
    }
  }
}

/// Qwen3-8B on one, two and four GPUs, and the four GPUs' share of Qwen3-30B-A3B, whose keys are another form of the
/// loop.
TEST_F(OnGpu, NormsOfHeadsAreTheSquaresOfLibTorchs) {
  const auto vllm = make_vllm_kernels(settings_.kernels, settings_.attention);
  const auto torch = make_torch_kernels();
  for (const HeadShape& shape :
       {HeadShape{32, 8, 128}, HeadShape{16, 4, 128}, HeadShape{8, 2, 128}, HeadShape{8, 1, 128}}) {
    if (const std::string why = vllm->refusal(shape, at::kBFloat16); !why.empty()) GTEST_SKIP() << why;
    std::printf("%d + %d heads: %s\n", static_cast<int>(shape.heads), static_cast<int>(shape.kv_heads),
                vllm->choose(shape).c_str());
    for (const std::int64_t tokens : {1, 3, 37, 500, 8192}) {
      const std::int64_t width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
      const at::Tensor qkv = at::randn({tokens, width}, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16));
      const auto [queries, keys] = vllm->head_norms(qkv, shape);
      const auto [query_norms, key_norms] = torch->head_norms(qkv, shape);
      ASSERT_EQ(queries.sizes(), query_norms.sizes());
      ASSERT_EQ(keys.sizes(), key_norms.sizes());
      EXPECT_TRUE(queries.allclose(query_norms.square(), 1e-3)) << shape.heads << ' ' << tokens;
      EXPECT_TRUE(keys.allclose(key_norms.square(), 1e-3)) << shape.kv_heads << ' ' << tokens;
    }
  }
}

TEST_F(OnGpu, NormsOfHeadsAreMeasuredByTheirOwnKernel) {
  const auto measurer = make_measurer(settings_);
  const auto key = oracle::qk_norm_key("bfloat16", {.heads = 32, .kv_heads = 8, .head_dim = 128});
  if (std::string why; !measurer->supports(key, why)) GTEST_SKIP() << why;
  for (const std::uint64_t tokens : {1, 64, 1024, 8192}) {
    const auto sample = measurer->measure(key, {tokens}, oracle::ClockRegime::kCool);
    ASSERT_EQ(sample.status, oracle::SampleStatus::kOk) << sample.note;
    ASSERT_EQ(sample.kernels.size(), 1U);
    EXPECT_NE(sample.kernels[0].find("fused_qk_norm"), std::string::npos) << sample.kernels[0];
    EXPECT_NE(sample.note.find("Inductor"), std::string::npos) << sample.note;
    std::printf("%5d tokens: %.2f us by %s\n", static_cast<int>(tokens), sample.median_s * 1e6,
                sample.kernels[0].c_str());
  }
}

TEST_F(OnGpu, EachKindIsTimedInBothRegimes) {
  const auto measurer = make_measurer(settings_);
  const auto kernels = make_vllm_kernels(settings_.kernels, settings_.attention);
  for (const Example& example : examples("bfloat16", *kernels)) {
    if (is_compiled_for_models(example.key)) continue;
    SCOPED_TRACE(example.name);
    for (const auto regime : {oracle::ClockRegime::kCool, oracle::ClockRegime::kSustained}) {
      const auto sample = measurer->measure(example.key, example.point, regime);
      EXPECT_EQ(sample.status, oracle::SampleStatus::kOk) << sample.note;
      EXPECT_EQ(sample.note.find("gaps between launches"), std::string::npos);
      EXPECT_GT(sample.sm_clock_mhz, 0);
    }
  }
}

TEST_F(OnGpu, MemoryThatIsNotThereIsAResult) {
  const auto measurer = make_measurer(settings_);
  const auto key = oracle::linear_key({"bfloat16", "bfloat16", "bfloat16"}, 4096, 4096);
  const auto sample = measurer->measure(key, {std::uint64_t{1} << 30U}, oracle::ClockRegime::kCool);
  EXPECT_EQ(sample.status, oracle::SampleStatus::kOutOfMemory) << sample.note;
  EXPECT_EQ(measurer->measure(key, {16}, oracle::ClockRegime::kCool).status, oracle::SampleStatus::kOk);
}

}  // namespace
}  // namespace dooly::profiling
