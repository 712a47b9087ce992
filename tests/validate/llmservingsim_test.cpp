// A hand-made run of the llmservingsim format, and the published ones where their data are there.
#include "test_support/test_data.hpp"
#include "validate/error_figures.hpp"
#include "validate/outcome.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;

class LlmServingSim : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_ / "traces");
    std::ofstream(directory_ / "vllm_meta.json")
        << R"({"model": "meta-llama/Llama-3.1-8B", "dataset_path": "workloads/three.jsonl", "engine_kwargs":
               {"tensor_parallel_size": 1, "max_num_seqs": 8, "max_num_batched_tokens": 256}})";
    // A step takes 10 ms. Request 0: two steps of prompt, four tokens. Request 1 comes 4 ms into a step, is taken up at
    // its end and repeats 16 tokens of request 0. Request 2 comes to an idle engine.
    std::ofstream(directory_ / "vllm_requests.jsonl.gz")
        << R"({"input_toks": 300, "output_toks": 4, "arrival_time": 1000.0, "queued_ts": 50.0, "scheduled_ts": 50.0, )"
           R"("first_token_ts": 50.02, "last_token_ts": 50.05})"
           "\n"
           R"({"input_toks": 20, "output_toks": 2, "arrival_time": 1000.024, "queued_ts": 50.03, )"
           R"("scheduled_ts": 50.03, "first_token_ts": 50.04, "last_token_ts": 50.05})"
           "\n"
           R"({"input_toks": 16, "output_toks": 1, "arrival_time": 1001.0, "queued_ts": 51.0, "scheduled_ts": 51.0, )"
           R"("first_token_ts": 51.01, "last_token_ts": 51.01})"
           "\n";
    write_trace(20);
  }
  void TearDown() override { fs::remove_all(directory_); }

  void write_trace(int second_prompt) const {
    std::ofstream(directory_ / "traces/three.blocks16.jsonl.gz")
        << R"({"input_toks": 300, "output_toks": 4, "hash_ids": [7, 8, 9]})"
           "\n"
        << R"({"input_toks": )" << second_prompt
        << R"(, "output_toks": 2, "hash_ids": [7]})"
           "\n"
        << R"({"input_toks": 16, "output_toks": 1, "hash_ids": [1]})"
           "\n";
  }
  Validation validation(const std::string& more = "") const {
    return parse_validation(
        "measurement: {format: llmservingsim, path: ., traces: traces}\n"
        "scenario:\n"
        "  dooly: 1\n"
        "  model: meta-llama/Llama-3.1-8B\n"
        "  gpu: H200-SXM\n"
        "  engine: {async_scheduling: false, cudagraph_capture_sizes: []}\n"
        "  platform: {host: none}\n"
        "  oracle: {kind: fixed, base: 8ms}\n"
        "clock: engine\n" +
            more,
        directory_ / "v.yaml");
  }
  fs::path directory_ = fs::path(testing::TempDir()) / ("dooly-llmservingsim-" + std::to_string(::getpid()));
};

ErrorFigures figures(const Outcome& outcome, std::string_view name) {
  for (const Series& series : outcome.comparison.series)
    if (series.name == name) return error_figures(series);
  ADD_FAILURE() << "no series " << name;
  return {};
}

TEST_F(LlmServingSim, StepsOfEightMillisecondsAreAFifthTooQuick) {
  Workbench workbench;
  const Outcome outcome = run_validation(validation(), workbench);
  ASSERT_FALSE(outcome.is_skipped()) << outcome.missing;
  const ErrorFigures ttft = figures(outcome, "requests.ttft");
  EXPECT_EQ(ttft.count, 3u);
  EXPECT_NEAR(ttft.mean, -0.2, 1e-6);  // from where the loop takes requests up, in both
  EXPECT_NEAR(figures(outcome, "requests.tpot").mean, -0.2, 1e-6);
  EXPECT_NEAR(figures(outcome, "requests.e2e").mean, -0.2, 1e-6);
}

TEST_F(LlmServingSim, TheFitFindsTheMissingTwoMilliseconds) {
  Workbench workbench;
  const Outcome outcome =
      run_validation(validation("fit:\n  - {measurement: ., terms: [gaps], first_requests: 2}\n"), workbench);
  ASSERT_FALSE(outcome.is_skipped()) << outcome.missing;
  ASSERT_EQ(outcome.comparison.notes.size(), 1u);
  EXPECT_NE(outcome.comparison.notes[0].find("gaps_none 2.000 ms, gaps_piecewise 2.000 ms"), std::string::npos)
      << outcome.comparison.notes[0];
  EXPECT_NEAR(figures(outcome, "requests.ttft").mean, 0, 1e-3);  // the third request was not fitted on
}

TEST_F(LlmServingSim, RefusesAnotherWorkload) {
  write_trace(21);
  Workbench workbench;
  try {
    run_validation(validation(), workbench);
    FAIL() << "accepted";
  } catch (const ValidationError& error) {
    EXPECT_NE(std::string(error.what()).find("three.blocks16.jsonl.gz:2: "), std::string::npos) << error.what();
  }
}

TEST_F(LlmServingSim, MissingWorkloadIsMissingData) {
  fs::remove(directory_ / "traces/three.blocks16.jsonl.gz");
  Workbench workbench;
  const Outcome outcome = run_validation(validation(), workbench);
  EXPECT_TRUE(outcome.is_skipped());
  EXPECT_NE(outcome.missing.find("three.blocks16.jsonl.gz"), std::string::npos) << outcome.missing;
}

class PublishedRun : public testing::TestWithParam<const char*> {};

TEST_P(PublishedRun, IsWithinItsBounds) {
  const Validation validation =
      load_validation(dooly::test::source_path("validate") / (std::string(GetParam()) + ".yaml"));
  if (!fs::exists(validation.measurement)) GTEST_SKIP() << "missing " << validation.measurement;
  Workbench workbench;
  const Outcome outcome = run_validation(validation, workbench);
  ASSERT_FALSE(outcome.is_skipped()) << outcome.missing;
  EXPECT_EQ(figures(outcome, "requests.ttft").count, 300u);
  EXPECT_TRUE(outcome.is_met()) << outcome_text(outcome);
}

INSTANTIATE_TEST_SUITE_P(LlmServingSim, PublishedRun,
                         testing::Values("llmservingsim-llama-3.1-8b", "llmservingsim-qwen3-32b-tp2"));

}  // namespace
}  // namespace dooly::validate
