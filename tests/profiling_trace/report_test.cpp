#include "profiling_trace/trace_report.hpp"

#include "profiling_engine/model.hpp"
#include "profiling_engine/model_numbers.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_trace/traced_reuse.hpp"
#include "test_support/test_data.hpp"

#include "oracle/oracle_error.hpp"
#include "oracle/step_plan.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace dooly::profiling {
namespace {

TEST(TraceReport, EveryModelThatTheEngineBuildsIsLabelledAndEqualsItsPlan) {
  const std::filesystem::path root = test::data_path("data/models");
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "missing " << root;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (std::filesystem::exists(entry.path() / "config.json")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  int traced = 0;
  for (const std::filesystem::path& folder : folders) {
    for (const std::uint32_t ranks : {1U, 2U, 4U}) {
      try {
        check_is_built_in(load_model(folder).config, ranks);
      } catch (const ProfilingError&) {
        continue;  // the engine says what it has not
      } catch (const oracle::OracleError&) {
        continue;  // not a model that plans know, or one that cannot be split so
      }
      const TraceReport report =
          report_trace({.config = folder, .backend = "fa3", .dtype = "bfloat16", .tensor_parallel = ranks});
      EXPECT_EQ(report.unlabelled, std::vector<std::string>()) << folder << " " << ranks;
      EXPECT_EQ(report.contradictions, std::vector<std::string>()) << folder << " " << ranks;
      EXPECT_EQ(report.not_planned, std::vector<std::string>()) << folder << " " << ranks;
      ++traced;
    }
  }
  EXPECT_GE(traced, 60);
  RecordProperty("traced", traced);
}

TEST(TraceReport, ARunThatIsTimedHasSharesAndCoverage) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "dooly_trace_report_config.json";
  std::ofstream(path) << R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 500,
    "max_position_embeddings": 512, "torch_dtype": "float32", "hidden_act": "silu", "rms_norm_eps": 1e-6})";
  TraceRequestOptions options{.config = path, .backend = "torch", .dtype = "float32", .device = "cpu", .layers = 2};
  const TraceReport report = report_trace(options);
  EXPECT_TRUE(report.is_proved()) << report.text;
  EXPECT_NE(report.text.find(" %\n"), std::string::npos);
  EXPECT_NE(report.text.find("coverage "), std::string::npos);
  EXPECT_NE(report.text.find("in units above operator level 0.0 %"), std::string::npos) << report.text;
  EXPECT_NE(report.text.find("equal to the step plan"), std::string::npos);
  EXPECT_EQ(report.text.find("layers.2"), std::string::npos);  // only two were asked for
  ASSERT_TRUE(report.coverage);
  // All that is missing is the host's time between operators, which is not little for operators of a microsecond.
  EXPECT_GT(*report.coverage, 0.3);
  EXPECT_LE(*report.coverage, 1);
  for (const char* what : {"no operator key", "does not run alone", "launched by no operator"})
    EXPECT_EQ(report.text.find(what), std::string::npos) << report.text;
  const auto json = nlohmann::json::parse(report.json);
  EXPECT_EQ(json.at("coverage"), *report.coverage);
  EXPECT_EQ(json.at("unlabelled").size(), 0U);
  EXPECT_EQ(json.at("passes").size(), 2U);
  EXPECT_EQ(json.at("operations").at(0).at("key").at("kind"), "embedding");
  options.layers = 4;
  EXPECT_THROW(report_trace(options), ProfilingError);
  std::filesystem::remove(path);
}

TEST(TraceReport, WithoutTaintOrRulesDimensionsLoseTheirOrigin) {
  TraceRequestOptions options{.config = "meta-llama/Llama-3.1-8B", .layers = 2};
  const TraceReport whole = report_trace(options);
  EXPECT_TRUE(whole.is_proved()) << whole.text;
  EXPECT_FALSE(whole.coverage);  // nothing ran
  for (const Ablation ablation : {Ablation::kConfig, Ablation::kRules}) {
    options.ablation = ablation;
    const TraceReport report = report_trace(options);
    EXPECT_EQ(report.dims, whole.dims);
    EXPECT_GT(report.unlabelled.size(), report.dims / 4);
    EXPECT_LT(report.unlabelled.size(), report.dims);
    EXPECT_NE(report.text.find(report.unlabelled.front()), std::string::npos);
  }
}

TEST(TraceReport, KernelLibrariesOfTheEngineWantAGpu) {
  EXPECT_THROW(report_trace({.config = "meta-llama/Llama-3.1-8B", .device = "cpu", .kernels = "/nowhere"}),
               ProfilingError);
}

TEST(TracedReuse, CountsSignaturesThatAnEarlierConfigurationHasAlready) {
  const auto root = test::data_path("data/models");
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "missing " << root;
  const TracedReuse table = traced_reuse(
      {root / "meta-llama--Meta-Llama-3.1-8B", root / "CohereForAI--c4ai-command-r7b-12-2024"}, {"fa3"}, {1, 2});
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0].fresh, table.rows[0].signatures);  // nothing was there before
  // Command-R7B has Llama-3.1-8B's qkv, output, gate-up and down projections, its activation, KV write and full
  // attention; windows, norms, rotary embedding (pairs of neighbours), sums and the vocabulary are
  // its own.
  EXPECT_EQ(table.rows[2].signatures - table.rows[2].fresh, 7U);
  EXPECT_EQ(table.total,
            table.rows[0].signatures + table.rows[1].signatures + table.rows[2].signatures + table.rows[3].signatures);
  EXPECT_LT(table.unique, table.total);
  EXPECT_NE(reuse_text(table).find("reused"), std::string::npos);
}

/// The table of `dooly profile model --dry-run`, which is made from plans.
TracedReuse planned_reuse(const std::vector<std::filesystem::path>& configs, const std::vector<std::string>& backends,
                          const std::vector<std::uint32_t>& tensor_parallel) {
  TracedReuse table;
  std::set<oracle::Signature> known;
  for (const std::filesystem::path& config : configs) {
    for (const std::uint32_t ranks : tensor_parallel) {
      for (const std::string& backend : backends) {
        oracle::PlanSettings settings;
        settings.backend = backend;
        settings.tensor_parallel = ranks;
        std::set<oracle::Signature> own;
        for (const oracle::PlanEntry& entry : oracle::make_plan(load_model(config).config, settings).entries) {
          if (entry.binding != oracle::Binding::kCollective) own.insert(entry.signature);
        }
        std::size_t fresh = 0;
        for (const oracle::Signature& signature : own) fresh += known.insert(signature).second ? 1 : 0;
        table.rows.push_back({"", backend, ranks, own.size(), fresh});
        table.total += own.size();
      }
    }
  }
  table.unique = known.size();
  return table;
}

TEST(TracedReuse, IsThatOfThePlans) {
  const auto root = test::data_path("data/models");
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "missing " << root;
  std::vector<std::filesystem::path> configs;
  for (const char* name :
       {"meta-llama--Meta-Llama-3.1-8B", "meta-llama--Meta-Llama-3.1-70B", "CohereForAI--c4ai-command-r7b-12-2024",
        "mistralai--Ministral-8B-Instruct-2410", "mistralai--Mistral-7B-Instruct-v0.3", "Qwen--Qwen2.5-7B-Instruct",
        "Qwen--Qwen3-8B", "Qwen--Qwen3-32B", "Qwen--Qwen3-30B-A3B", "mistralai--Mixtral-8x7B-v0.1",
        "google--gemma-2-9b-it", "google--gemma-3-12b-it"}) {
    configs.push_back(root / name);
  }
  const std::vector<std::string> backends{"fa3", "flashinfer", "triton"};
  const TracedReuse traced = traced_reuse(configs, backends, {1, 2, 4}),
                    planned = planned_reuse(configs, backends, {1, 2, 4});
  EXPECT_EQ(traced.left_out, std::vector<std::string>());
  ASSERT_EQ(traced.rows.size(), planned.rows.size());
  for (std::size_t i = 0; i < traced.rows.size(); ++i) {
    EXPECT_EQ(traced.rows[i].signatures, planned.rows[i].signatures) << traced.rows[i].model;
    EXPECT_EQ(traced.rows[i].fresh, planned.rows[i].fresh) << traced.rows[i].model;
  }
  EXPECT_EQ(traced.total, planned.total);
  EXPECT_EQ(traced.unique, planned.unique);
}

TEST(TraceReport, AnUnknownTypeIsRefusedWithThoseAllowed) {
  const auto root = test::data_path("data/models/Qwen--Qwen3-8B");
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "missing " << root;
  EXPECT_THROW(report_trace({.config = root, .dtype = "fp8"}), oracle::OracleError);
  EXPECT_THROW(report_trace({.config = root, .device = "tpu"}), ProfilingError);
}

}  // namespace
}  // namespace dooly::profiling
