// A hand-made sample of the format aiconfigurator-silicon, whose every error is known.
#include "../cli/dooly_process.hpp"
#include "test_support/test_data.hpp"
#include "validate/error_figures.hpp"
#include "validate/outcome.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kColumns =
    "id,silicon_data_source,backend,backend_version,model_path,system,mode,isl,osl,gemm_quant_mode,batch_size,tp_size,"
    "pp_size,attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n";
constexpr const char* kDenseConfig =
    R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 4,)"
    R"( "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 32000,)"
    R"( "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-06, "hidden_act": "silu"})";
constexpr const char* kExpertsConfig =
    R"({"model_type": "qwen3_moe", "hidden_size": 1024, "intermediate_size": 2048, "moe_intermediate_size": 512,)"
    R"( "num_experts": 8, "num_experts_per_tok": 2, "num_hidden_layers": 4, "num_attention_heads": 16,)"
    R"( "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 32000, "max_position_embeddings": 8192,)"
    R"( "torch_dtype": "bfloat16", "rms_norm_eps": 1e-06, "hidden_act": "silu", "norm_topk_prob": true})";

/// Every step takes 10 ms: TTFT and TPOT of a lone client are 10 ms.
constexpr const char* kValidation =
    "measurement: {format: aiconfigurator-silicon, path: data/groundtruth/aiconfigurator/sample.csv}\n"
    "scenario:\n"
    "  dooly: 1\n"
    "  model: Qwen/Qwen3-32B\n"
    "  gpu: H100-SXM\n"
    "  tp: 2\n"
    "  platform: {host: none}\n"
    "  oracle: [{kind: fixed, base: 10ms, per_token: 0s, per_1000_context: 0s}]\n";

class SiliconSample : public testing::Test {
 protected:
  Outcome run(const std::string& rows, const char* config = kDenseConfig) {
    write("groundtruth/aiconfigurator/sample.csv", kColumns + rows);
    write("models/Org--Tiny/config.json", config);
    return run_validation(load_validation(scratch_.file("v.yaml", kValidation)), workbench_);
  }
  static ErrorFigures figures(const Outcome& outcome, const std::string& name) {
    for (const Series& series : outcome.comparison.series)
      if (series.name == name) return error_figures(series);
    ADD_FAILURE() << "no " << name;
    return {};
  }
  static bool says(const Outcome& outcome, const std::string& part) {
    const auto& notes = outcome.comparison.notes;
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(part) != std::string::npos; });
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    const fs::path path = scratch_.path() / "data" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  cli::Scratch scratch_;
  Workbench workbench_;
};

TEST_F(SiliconSample, ErrorsAreThoseOfTheMeans) {
  const Outcome outcome =
      run("a,silicon_concurrency=1,vllm,0.12.0,Org/Tiny,h100_sxm,agg,100,3,,1,1,1,,1,1,8,12.5\n"
          "b,silicon_concurrency=1,sglang,0.5,Org/Tiny,h100_sxm,agg,100,3,,1,1,1,,1,1,1,1\n"
          "c,silicon_concurrency=1,vllm,0.12.0,Org/Tiny,h100_sxm,disagg,100,3,,1,1,1,,1,1,1,1\n");
  EXPECT_EQ(figures(outcome, "rows.ttft").count, 1);
  EXPECT_NEAR(figures(outcome, "rows.ttft").mape, 0.25, 1e-9);
  EXPECT_NEAR(figures(outcome, "rows.tpot").mape, 0.2, 1e-9);
  EXPECT_NEAR(figures(outcome, "rows.throughput").mean, 33.0 / 30 - 1, 1e-9);
  EXPECT_NEAR(figures(outcome, "Tiny@h100_sxm-tp1.tpot").mean, -0.2, 1e-9);
}

TEST_F(SiliconSample, EngineSettingsFollowTheTool) {
  // 612 + 1500 tokens a step: of 32 prompts of 100 tokens that come at once all but 10.88 are in the first step.
  const Outcome outcome = run("a,silicon_concurrency=32,vllm,0.12.0,Org/Tiny,h100_sxm,agg,100,2,,32,1,1,,1,1,10,10\n");
  const ErrorFigures ttft = figures(outcome, "rows.ttft");
  EXPECT_GT(ttft.mean, 0);
  EXPECT_LE(ttft.predicted_mean, 0.0201);
}

TEST_F(SiliconSample, ClientsThatAreNotToldShareAMachinesWorkers) {
  const Outcome outcome = run("a,,vllm,0.12.0,Org/Tiny,h100_sxm,agg,100,3,fp8,8,2,1,,0,0,10,10\n");
  EXPECT_TRUE(says(outcome, "100/3 x2"));  // four workers of two GPUs
  EXPECT_TRUE(says(outcome, "no number of clients"));
}

TEST_F(SiliconSample, WhatCannotBeComparedIsTold) {
  const Outcome outcome =
      run("a,silicon_concurrency=4,vllm,0.12.0,Org/Tiny,h100_sxm,agg,100,3,,4,1,1,,2,1,10,10\n"
          "b,silicon_concurrency=4,vllm,0.12.0,Org/Tiny,b200_sxm,agg,100,3,,4,1,1,1,1,1,10,10\n"
          "c,silicon_concurrency=4,vllm,0.12.0,Org/Other,h100_sxm,agg,100,3,,4,1,1,1,1,1,10,10\n"
          "d,silicon_concurrency=4,vllm,0.12.0,Org/Tiny,h100_sxm,agg,100,3,,4,2,1,,1,2,10,10\n"
          "e,silicon_concurrency=4,vllm,0.12.0,Org/Tiny,h100_sxm,agg,100,3,,4,1,2,,1,1,10,10\n",
          kExpertsConfig);
  EXPECT_TRUE(says(outcome, "data-parallel attention"));
  EXPECT_TRUE(says(outcome, "no tables of b200_sxm"));
  EXPECT_TRUE(says(outcome, "no configuration of Org/Other"));
  EXPECT_TRUE(says(outcome, "pipeline parallel"));
  EXPECT_EQ(figures(outcome, "Tiny@h100_sxm-tp2-ep.tpot").count, 1);
}

TEST_F(SiliconSample, DamagedRowsNameLineAndColumn) {
  try {
    run("a,silicon_concurrency=4,vllm,0.12.0,Org/Tiny,h100_sxm,agg,x,3,,4,1,1,,1,1,10,10\n");
    FAIL();
  } catch (const ValidationError& error) {
    EXPECT_NE(std::string(error.what()).find("sample.csv:2: isl: "), std::string::npos) << error.what();
  }
  EXPECT_THROW(run("a,vllm\n"), ValidationError);
}

TEST(SiliconRows, DenseModelsAreWithinTheirBounds) {
  const Validation validation = load_validation(dooly::test::source_path("validate/silicon-dense.yaml"));
  if (!fs::exists(validation.measurement)) GTEST_SKIP() << "missing " << validation.measurement;
  Workbench workbench;
  const Outcome outcome = run_validation(validation, workbench);
  if (outcome.is_skipped()) GTEST_SKIP() << outcome.missing;
  ASSERT_EQ(outcome.judgements.size(), 3);
  EXPECT_TRUE(outcome.is_met()) << outcome_text(outcome);
}

}  // namespace
}  // namespace dooly::validate
