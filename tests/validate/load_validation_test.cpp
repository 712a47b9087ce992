#include "test_support/test_data.hpp"
#include "validate/validation.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace dooly::validate {
namespace {

const std::string kGood =
    "measurement: {format: vllm-h200-groundtruth, path: run/a}\n"
    "scenario:\n"
    "  model: meta-llama/Llama-3.1-8B\n"
    "  gpu: H200-SXM\n"
    "bounds:\n"
    "  requests.ttft: {mean: 6%, mape: 12.5%, pairs: 20}\n"
    "  decisions.batches: {differences: 0}\n"
    "fit:\n"
    "  - {measurement: run/b, terms: [launch, clock]}\n"
    "  - {measurement: run/a, terms: schedule, first_requests: 100}\n";

std::string problem(const std::string& text) {
  try {
    parse_validation(text, "dir/v.yaml");
  } catch (const ValidationError& error) {
    return error.what();
  }
  return "accepted";
}

/// The good file with one piece replaced.
std::string with(const std::string& piece, const std::string& other) {
  std::string text = kGood;
  return text.replace(text.find(piece), piece.size(), other);
}

/// Where no folder above has data either, whatever the environment of the tests names.
TEST(LoadValidation, PathsOfDataThatAreNotAtHandStayAsWritten) {
  const char* set = std::getenv("DOOLY_DATA");
  const std::optional<std::string> before = set == nullptr ? std::nullopt : std::optional<std::string>(set);
  ::unsetenv("DOOLY_DATA");
  std::string text = with("path: run/a", "path: $DOOLY_DATA/run/a");
  text.replace(text.find("run/b"), 5, "$DOOLY_DATA/run/b");
  std::optional<Validation> validation;
  EXPECT_NO_THROW(validation = parse_validation(text, "/no/such/folder/v.yaml"));
  if (before) ::setenv("DOOLY_DATA", before->c_str(), 1);
  ASSERT_TRUE(validation);
  EXPECT_EQ(validation->measurement, "$DOOLY_DATA/run/a");
  EXPECT_EQ(validation->fit.at(0).measurement, "$DOOLY_DATA/run/b");
}

TEST(LoadValidation, TakesEverything) {
  const Validation validation = parse_validation(kGood, "dir/v.yaml");
  EXPECT_EQ(validation.name, "v");
  EXPECT_EQ(validation.measurement, std::filesystem::current_path() / "dir/run/a");
  EXPECT_EQ(validation.checks, (std::vector<std::string>{"decisions", "iterations", "requests"}));
  EXPECT_EQ(validation.clock, Clock::kClient);
  ASSERT_EQ(validation.bounds.size(), 3);
  EXPECT_EQ(validation.bounds[1].error, "mape");
  EXPECT_DOUBLE_EQ(validation.bounds[1].limit, 0.125);
  EXPECT_EQ(validation.bounds[1].pairs, 20);
  EXPECT_EQ(validation.bounds[2].limit, 0);
  ASSERT_EQ(validation.fit.size(), 2);
  EXPECT_EQ(validation.fit[0].terms, (std::vector<std::string>{"launch", "clock"}));
  EXPECT_EQ(validation.fit[1].first_requests, 100);
}

TEST(LoadValidation, AnInlineScenarioKeepsItsPlace) {
  const ScenarioText& scenario = parse_validation(kGood, "dir/v.yaml").scenario;
  EXPECT_EQ(scenario.text.substr(0, 35), "\n\n  model: meta-llama/Llama-3.1-8B\n");
  EXPECT_EQ(scenario.text.find("bounds"), std::string::npos);
}

TEST(LoadValidation, AScenarioOnOneLineIsRefused) {
  EXPECT_EQ(problem("scenario: {model: x, gpu: y}\nmeasurement: {format: vllm-h200-groundtruth, path: a}\n"),
            "dir/v.yaml:1:11: scenario: must be written over several lines, one key each, got a map");
}

TEST(LoadValidation, UnknownKeysAreRefusedWithTheirPlace) {
  EXPECT_EQ(
      problem(with("bounds:", "bonds:")),
      "dir/v.yaml:5:1: bonds: unknown key, did you mean 'bounds'?; allowed: scenario, measurement, checks, clock, "
      "profiles, fit, bounds");
  EXPECT_EQ(problem(with("path: run/a}", "path: run/a, select: x}")),
            "dir/v.yaml:1:59: measurement.select: unknown key; allowed: format, path");
  EXPECT_EQ(problem(with("mean: 6%", "maen: 6%")),
            "dir/v.yaml:6:19: bounds.requests.ttft.maen: unknown key, did you mean 'mean'?; allowed: mean, p50, p90, "
            "p99, mape, median, pair_p90, differences, pairs");
}

TEST(LoadValidation, WhatIsMissingIsNamed) {
  EXPECT_EQ(problem("bounds: {}\n"), "dir/v.yaml:1:1: measurement: is required\ndir/v.yaml:1:1: scenario: is required");
}

TEST(LoadValidation, FormatsAreListed) {
  const std::string text = problem(with("vllm-h200-groundtruth", "vllm-h200"));
  EXPECT_TRUE(
      text.starts_with("dir/v.yaml:1:23: measurement.format: unknown, did you mean 'vllm-h200-groundtruth'?, got "
                       "vllm-h200; allowed: "))
      << text;
}

TEST(LoadValidation, ABoundIsAPercentage) {
  EXPECT_EQ(problem(with("mean: 6%", "mean: 0.06")),
            "dir/v.yaml:6:25: bounds.requests.ttft.mean: must be a percentage such as 4%, got 0.06");
  EXPECT_EQ(problem(with("mean: 6%", "mean: -6%")),
            "dir/v.yaml:6:25: bounds.requests.ttft.mean: must be a percentage such as 4%, got -6%");
}

TEST(LoadValidation, ABoundIsOfSomethingThatIsCompared) {
  const std::string text = problem(with("requests.ttft:", "requests.tftt:"));
  EXPECT_TRUE(
      text.starts_with("dir/v.yaml:6:3: bounds.requests.tftt: nothing of that name is compared, did you mean "
                       "'requests.ttft'?; allowed: memory.kv_blocks, decisions.batches, "))
      << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(LoadValidation, ABoundIsOfAnAskedCheck) {
  EXPECT_EQ(problem(kGood + "checks: [requests]\n"),
            "dir/v.yaml:7:3: bounds.decisions.batches: nothing of that name is compared; allowed: memory.kv_blocks, "
            "requests.ttft, requests.tpot, requests.e2e, parts.queue, parts.prefill, parts.delivery, parts.decode");
}

TEST(LoadValidation, TalliesHaveDifferencesAndSeriesErrors) {
  EXPECT_EQ(problem(with("{differences: 0}", "{mape: 4%}")),
            "dir/v.yaml:7:23: bounds.decisions.batches.mape: is a tally; allowed: differences, pairs");
  EXPECT_EQ(
      problem(with("mean: 6%", "differences: 6")),
      "dir/v.yaml:6:19: bounds.requests.ttft.differences: is no tally; allowed: mean, p50, p90, p99, mape, median, "
      "pair_p90, pairs");
}

TEST(LoadValidation, GroupsThatTheMeasurementNamesAreTakenByTheirForm) {
  const auto bound = [](const std::string& name) {
    return problem("measurement: {format: aiconfigurator-silicon, path: a}\nscenario:\n  model: x\nbounds:\n  " + name +
                   ": {mape: 8%}\n");
  };
  EXPECT_EQ(bound("Qwen3-32B@h200_sxm-tp2.tpot"), "accepted");
  EXPECT_EQ(bound("gpt-oss-120b@h100_sxm-tp2-ep.ttft"), "accepted");
  EXPECT_NE(bound("Qwen3-32B@h200_sxm-tp2.e2e").find("allowed: rows.tpot, rows.throughput, rows.ttft, *@*-tp*.tpot"),
            std::string::npos);
  EXPECT_NE(bound("Qwen3-32B.tpot"), "accepted");
}

TEST(LoadValidation, WhatIsJudgedMustNotBeFittedOn) {
  EXPECT_EQ(problem(with("run/b", "run/a")),
            "dir/v.yaml:9:19: fit.0.measurement: is the measurement that is judged, and not only a part of it, got "
            "run/a");
}

TEST(LoadValidation, FitNamesTermsOfThePlatform) {
  EXPECT_EQ(problem(with("[launch, clock]", "[lunch]")).substr(0, 66),
            "dir/v.yaml:9:34: fit.0.terms: unknown, did you mean 'launch'?, got");
}

TEST(LoadValidation, AllProblemsComeAtOnce) {
  const std::string text = problem(with("mean: 6%", "mean: x") + "clock: server\n");
  EXPECT_NE(text.find("6:25: bounds.requests.ttft.mean"), std::string::npos) << text;
  EXPECT_NE(text.find("clock: unknown, got server; allowed: client, engine"), std::string::npos) << text;
}

TEST(LoadValidation, BrokenYamlNamesThePlace) {
  EXPECT_TRUE(problem("measurement: {format: [\n").starts_with("dir/v.yaml:")) << problem("measurement: {format: [\n");
}

TEST(LoadValidation, AFileThatIsNotThereIsNamed) {
  try {
    load_validation("no/such.yaml");
    FAIL() << "accepted";
  } catch (const ValidationError& error) {
    EXPECT_STREQ(error.what(), "no/such.yaml: no such file");
  }
}

}  // namespace
}  // namespace dooly::validate
