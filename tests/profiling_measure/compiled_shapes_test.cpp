#include "profiling_kernels/compiled_shapes.hpp"

#include "idle_kernels.hpp"
#include "oracle/operator_keys.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/local_measurer.hpp"
#include "profiling_measure/timer.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

namespace dooly::profiling {
namespace {

namespace fs = std::filesystem;

class CompiledShapesTest : public testing::Test {
 protected:
  CompiledShapesTest() {
    fs::remove_all(folder_);
    write("experts/experts.json",
          R"({"tables": [{"experts": 128, "width": 768, "hidden": 2048, "top_k": 8, "configs": []}]})");
    write("attention/attention.json", R"({"tables": [{"heads": 32, "kv_heads": 8, "head_dim": 128, "window": 4096,
          "has_soft_cap": 0, "block_size": 16}]})");
    write("norms/norms.json",
          R"({"tokens": 8192, "tables": [{"heads": 32, "kv_heads": 8, "head_dim": 128, "candidates": []}]})");
  }
  ~CompiledShapesTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "compiled-shapes-test";
};

TEST_F(CompiledShapesTest, KnowWhatTheTablesHold) {
  const CompiledShapes shapes(folder_);
  EXPECT_EQ(shapes.refusal(ExpertShape{128, 768, 2048, 8}), "");
  AttentionShape attention{.heads = 32, .kv_heads = 8, .head_dim = 128, .window = 4096};
  EXPECT_EQ(shapes.refusal(attention), "");
  EXPECT_EQ(shapes.refusal(HeadShape{32, 8, 128}), "");
}

TEST_F(CompiledShapesTest, NameWhatIsMissing) {
  const CompiledShapes shapes(folder_);
  const std::string experts = shapes.refusal(ExpertShape{128, 384, 2048, 8});
  EXPECT_NE(experts.find("128 experts of 384 x 2048, 8 a token"), std::string::npos) << experts;
  EXPECT_NE(experts.find("scripts/triton-experts"), std::string::npos) << experts;
  AttentionShape attention{.heads = 32, .kv_heads = 8, .head_dim = 128, .window = 4096, .soft_cap = 30};
  EXPECT_NE(shapes.refusal(attention).find("with soft cap"), std::string::npos);
  attention = {.heads = 32, .kv_heads = 8, .head_dim = 128};
  EXPECT_NE(shapes.refusal(attention).find("window 0"), std::string::npos);
  const std::string norms = shapes.refusal(HeadShape{16, 4, 128});
  EXPECT_NE(norms.find("16 query and 4 KV heads of 128"), std::string::npos) << norms;
  EXPECT_NE(norms.find("scripts/triton-norms"), std::string::npos) << norms;
  EXPECT_NE(shapes.refusal(HeadShape{32, 8, 128, true}).find("across heads"), std::string::npos);
}

TEST_F(CompiledShapesTest, AreNoneWithoutTables) {
  EXPECT_NE(CompiledShapes(folder_ / "elsewhere").refusal(ExpertShape{128, 768, 2048, 8}), "");
  EXPECT_NE(CompiledShapes(folder_ / "elsewhere").refusal(HeadShape{32, 8, 128}), "");
}

TEST_F(CompiledShapesTest, TablesThatCannotBeUnderstoodAreNamed) {
  write("experts/experts.json", R"({"tables": [{"experts": 128}]})");
  try {
    const CompiledShapes shapes(folder_);
    FAIL();
  } catch (const ProfilingError& error) {
    EXPECT_NE(std::string(error.what()).find("experts.json"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("width"), std::string::npos) << error.what();
  }
}

TEST_F(CompiledShapesTest, NormsThatCannotBeUnderstoodAreNamed) {
  write("norms/norms.json", R"({"tables": [{"heads": 32, "kv_heads": 8}]})");
  try {
    const CompiledShapes shapes(folder_);
    FAIL();
  } catch (const ProfilingError& error) {
    EXPECT_NE(std::string(error.what()).find("norms.json"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("head_dim"), std::string::npos) << error.what();
  }
}

TEST_F(CompiledShapesTest, SayByWhichTritonTheyWereCompiled) {
  EXPECT_EQ(CompiledShapes(folder_ / "elsewhere").triton_version(), "");
  EXPECT_EQ(CompiledShapes(folder_).triton_version(), "unknown");  // tables from before versions
  for (const char* table : {"experts/experts.json", "attention/attention.json", "norms/norms.json"})
    write(table, R"({"triton": "3.6.0", "vllm": "0.26.0", "tables": []})");
  EXPECT_EQ(CompiledShapes(folder_).triton_version(), "3.6.0");
  write("_version.py", "__version__ = version = '0.26.0'\n");
  EXPECT_EQ(CompiledShapes(folder_).triton_version(), "3.6.0");
}

TEST_F(CompiledShapesTest, OfTwoTritonsOrOfAnotherEngineAreRefused) {
  const auto refused = [&] {
    try {
      const CompiledShapes shapes(folder_);
    } catch (const ProfilingError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  write("experts/experts.json", R"({"triton": "3.6.0", "vllm": "0.26.0", "tables": []})");
  write("attention/attention.json", R"({"triton": "3.7.0", "vllm": "0.26.0", "tables": []})");
  EXPECT_NE(refused().find("attention.json: was compiled by Triton 3.7.0"), std::string::npos) << refused();
  EXPECT_NE(refused().find("experts.json by 3.6.0"), std::string::npos) << refused();
  for (const char* table : {"attention/attention.json", "norms/norms.json"})
    write(table, R"({"triton": "3.6.0", "tables": []})");
  EXPECT_EQ(refused(), "");
  write("_version.py", "__version__ = version = '0.27.0'\n");
  EXPECT_NE(refused().find("was compiled from vLLM 0.26.0, the libraries beside it are of 0.27.0"), std::string::npos)
      << refused();
}

/// Kernels that have one shape of experts, norms of heads in one shape and no attention with windows.
class ChoosyKernels final : public IdleKernels {
 public:
  ChoosyKernels() : IdleKernels("torch") {}
  std::string refusal(const AttentionShape& shape, at::ScalarType) const override {
    return shape.window > 0 ? "no windows" : "";
  }
  std::string refusal(const ExpertShape& shape) const override {
    return shape.experts == 8 && shape.width == 32 && shape.hidden == 64 && shape.top_k == 2 ? "" : "not compiled";
  }
  std::string refusal(const HeadShape& shape, at::ScalarType) const override {
    return shape.heads == 8 ? "" : "norms not compiled";
  }
  std::string choose(const HeadShape&) override { return "the fastest of 6"; }
  std::pair<at::Tensor, at::Tensor> head_norms(const at::Tensor& qkv, const HeadShape&) override { return {qkv, qkv}; }
};

TEST(Measurer, WhatKernelsRefuseIsUnsupportedBeforeAnythingIsMeasured) {
  MeasureSettings settings;
  const auto measurer = make_measurer(make_cpu_timer(), std::make_unique<ChoosyKernels>(), settings, {});
  const auto experts = [](std::uint64_t width) {
    auto key = oracle::moe_experts_key("float32", "float32",
                                       {.hidden = 64, .intermediate = width, .local_experts = 8, .top_k = 2});
    key.family = "torch";
    return key;
  };
  std::string why;
  EXPECT_TRUE(measurer->supports(experts(32), why)) << why;
  EXPECT_FALSE(measurer->supports(experts(16), why));
  EXPECT_EQ(why, "not compiled");
  const auto sample = measurer->measure(experts(16), {4, 4, 0}, oracle::ClockRegime::kUnknown);
  EXPECT_EQ(sample.status, oracle::SampleStatus::kUnsupported);
  EXPECT_EQ(sample.note, "not compiled");

  oracle::AttentionWork work{.heads = 8, .kv_heads = 2, .head_dim = 64};
  EXPECT_TRUE(measurer->supports(oracle::attention_key("float32", "float32", work, "torch"), why));
  work.window = 32;
  EXPECT_FALSE(measurer->supports(oracle::attention_key("float32", "float32", work, "torch"), why));
  EXPECT_EQ(why, "no windows");
}

TEST(Measurer, NormsOfHeadsRunAsKernelsHaveThemAndNeverByAStandIn) {
  MeasureSettings settings;
  const auto measurer = make_measurer(make_cpu_timer(), std::make_unique<ChoosyKernels>(), settings, {});
  const auto compiled = oracle::qk_norm_key("float32", {.heads = 8, .kv_heads = 2, .head_dim = 64});
  ASSERT_EQ(compiled.family, "inductor");
  const auto sample = measurer->measure(compiled, {4}, oracle::ClockRegime::kUnknown);
  EXPECT_EQ(sample.status, oracle::SampleStatus::kOk) << sample.note;
  EXPECT_NE(sample.note.find("the fastest of 6"), std::string::npos) << sample.note;
  EXPECT_EQ(sample.note.find("LibTorch"), std::string::npos) << sample.note;

  std::string why;
  const auto other = oracle::qk_norm_key("float32", {.heads = 4, .kv_heads = 2, .head_dim = 64});
  EXPECT_FALSE(measurer->supports(other, why));
  EXPECT_EQ(why, "norms not compiled");
  EXPECT_EQ(measurer->measure(other, {4}, oracle::ClockRegime::kUnknown).status, oracle::SampleStatus::kUnsupported);
}

}  // namespace
}  // namespace dooly::profiling
