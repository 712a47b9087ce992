#include "profiling_trace/trace_report.hpp"

#include "profiling_engine/model.hpp"
#include "profiling_engine/model_numbers.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_trace/reuse_table.hpp"
#include "test_support/test_data.hpp"

#include "oracle/oracle_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

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
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 500,
    "max_position_embeddings": 512, "torch_dtype": "float32", "hidden_act": "silu", "rms_norm_eps": 1e-6})";
  const TraceReport report = report_trace({.config = path, .dtype = "float32", .run = true});
  EXPECT_TRUE(report.is_proved()) << report.text;
  EXPECT_NE(report.text.find(" %\n"), std::string::npos);
  EXPECT_NE(report.text.find("coverage "), std::string::npos);
  EXPECT_NE(report.text.find("equal to the step plan"), std::string::npos);
  EXPECT_GT(report.coverage, 0);
  std::filesystem::remove(path);
}

TEST(ReuseTable, CountsSignaturesThatAnEarlierConfigurationHasAlready) {
  const auto root = test::data_path("data/models");
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "missing " << root;
  const ReuseTable table = reuse_table(
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

TEST(TraceReport, AnUnknownTypeIsRefusedWithThoseAllowed) {
  const auto root = test::data_path("data/models/Qwen--Qwen3-8B");
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "missing " << root;
  EXPECT_THROW(report_trace({.config = root, .dtype = "fp8"}), ProfilingError);
}

}  // namespace
}  // namespace dooly::profiling
