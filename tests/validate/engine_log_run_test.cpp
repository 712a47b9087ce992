// A hand-made run of the format vllm-h200-groundtruth, whose every error is known.
#include "hand_made_run.hpp"

#include "../cli/dooly_process.hpp"
#include "validate/error_figures.hpp"
#include "validate/outcome.hpp"

#include <gtest/gtest.h>

namespace dooly::validate {
namespace {

class HandMadeRun : public testing::Test {
 protected:
  HandMadeRun() { test::write_hand_made_run(scratch_.path()); }

  Outcome run(const std::string& more = "") {
    return run_validation(load_validation(scratch_.file("v.yaml", test::hand_made_validation(more))), workbench_);
  }
  static ErrorFigures figures(const Outcome& outcome, const std::string& name) {
    for (const Series& series : outcome.comparison.series)
      if (series.name == name) return error_figures(series);
    ADD_FAILURE() << "no " << name;
    return {};
  }
  static std::uint64_t differences(const Outcome& outcome, const std::string& name) {
    for (const Tally& tally : outcome.comparison.tallies)
      if (tally.name == name) return tally.different;
    ADD_FAILURE() << "no " << name;
    return 0;
  }

  cli::Scratch scratch_;
  Workbench workbench_;
};

TEST_F(HandMadeRun, RequestsGoThroughTheSimulator) {
  const Outcome outcome = run();
  const ErrorFigures ttft = figures(outcome, "requests.ttft");  // 10 and 10 ms for 8 and 12
  EXPECT_EQ(ttft.count, 2);
  EXPECT_NEAR(ttft.mean, 0, 1e-9);
  EXPECT_NEAR(ttft.mape, (10.0 / 8 - 1 + 1 - 10.0 / 12) / 2, 1e-9);
  const ErrorFigures tpot = figures(outcome, "requests.tpot");  // 10 and 10 ms for 12.5 and 10
  EXPECT_NEAR(tpot.mean, 20.0 / 22.5 - 1, 1e-9);
  const ErrorFigures e2e = figures(outcome, "requests.e2e");  // 30 and 30 ms for 33 and 32
  EXPECT_NEAR(e2e.mean, 60.0 / 65 - 1, 1e-9);
}

TEST_F(HandMadeRun, IterationsAreClassed) {
  const Outcome outcome = run();
  const ErrorFigures decodes = figures(outcome, "decode_only.gpu");
  EXPECT_EQ(decodes.count, 4);
  EXPECT_NEAR(decodes.mape, 0.25, 1e-9);
  const ErrorFigures prompts = figures(outcome, "prefill.gpu");
  EXPECT_EQ(prompts.count, 2);
  EXPECT_NEAR(prompts.mape, 0, 1e-9);
  EXPECT_EQ(figures(outcome, "mixed_small.gpu").count, 0);
}

TEST_F(HandMadeRun, ALaunchCountsFromWhereTheDeviceStood) {
  std::string text = test::hand_made_validation("checks: iterations\n");
  text.replace(text.find("{host: none}"), 12, "{base: none, host: {launch_full: 12ms, lead_full: 5ms}}");
  const Outcome outcome = run_validation(load_validation(scratch_.file("launch.yaml", text)), workbench_);
  // A device that idles waits for the first kernel: 5 + 10 ms, later than the launch of 12; alone max(10, 12 - 5).
  EXPECT_NEAR(figures(outcome, "decode_only.gpu").predicted_mean, 15e-3, 1e-9);
  EXPECT_NEAR(figures(outcome, "decode_only.alone").predicted_mean, 10e-3, 1e-9);
  EXPECT_NEAR(figures(outcome, "decode_only.kernels").predicted_mean, 10e-3, 1e-9);
}

TEST_F(HandMadeRun, HostTermsStandAlone) {
  const Outcome outcome = run();
  const ErrorFigures launch = figures(outcome, "terms.launch_full");  // 1 ms, and this platform has none
  EXPECT_EQ(launch.count, 4);
  EXPECT_NEAR(launch.measured_mean, 1e-3, 1e-12);
  EXPECT_EQ(launch.predicted_mean, 0);
}

TEST_F(HandMadeRun, DecisionsAreThoseOfTheLog) {
  const Outcome outcome = run();
  EXPECT_EQ(differences(outcome, "decisions.batches"), 0);
  EXPECT_EQ(differences(outcome, "decisions.free_blocks"), 0);
  EXPECT_EQ(differences(outcome, "decisions.preempted"), 0);
}

TEST_F(HandMadeRun, AnotherDecisionIsFoundAndTold) {
  test::write_hand_made_run(scratch_.path(), 99);  // and its last prompt token in the step after
  const Outcome outcome = run("checks: decisions\n");
  EXPECT_EQ(differences(outcome, "decisions.batches"), 3);  // all of r0's
  EXPECT_EQ(outcome.comparison.tallies.at(0).first_difference,
            "iteration 0: r0 gets 100 tokens on 0 computed ones instead of 99 on 0");
}

TEST_F(HandMadeRun, OnlyTheChecksAskedForAreMade) {
  const Outcome outcome = run("checks: [requests]\n");
  EXPECT_TRUE(outcome.comparison.tallies.empty());
  EXPECT_EQ(figures(outcome, "requests.ttft").count, 2);
}

TEST_F(HandMadeRun, ScenarioProblemsPointIntoTheValidation) {
  const std::string text = test::hand_made_validation();
  std::string wrong = text;
  wrong.replace(wrong.find("gpu: H200-SXM"), 13, "gpu: H200-SXN");
  const Validation validation = load_validation(scratch_.file("wrong.yaml", wrong));
  try {
    run_validation(validation, workbench_);
    FAIL() << "accepted";
  } catch (const scenario::ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("wrong.yaml:5:8: gpu: "), std::string::npos) << error.what();
  }
}

TEST_F(HandMadeRun, AnEngineOfTheOtherKindIsRefused) {
  std::string other = test::hand_made_validation();
  other.replace(other.find("async_scheduling: false"), 23, "async_scheduling: true");
  const Validation validation = load_validation(scratch_.file("other.yaml", other));
  EXPECT_THROW(run_validation(validation, workbench_), ValidationError);
}

TEST_F(HandMadeRun, MissingFilesAreNamed) {
  std::filesystem::remove(scratch_ / "tiny/run.iterations.jsonl.gz");
  const Outcome outcome = run();
  EXPECT_TRUE(outcome.is_skipped());
  EXPECT_NE(outcome.missing.find("tiny/run.iterations.jsonl.gz: no such file"), std::string::npos) << outcome.missing;
}

TEST_F(HandMadeRun, ABadRowIsNamed) {
  scratch_.file("tiny/run.requests.jsonl.gz", "{\"id\":\"r0\"}\n");
  try {
    run();
    FAIL() << "accepted";
  } catch (const ValidationError& error) {
    EXPECT_NE(std::string(error.what()).find("run.requests.jsonl.gz:1: "), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dooly::validate
