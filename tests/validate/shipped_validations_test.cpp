// The validation files of the project load, and what they say of real runs holds where their data are there.
#include "test_support/test_data.hpp"
#include "validate/outcome.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> shipped() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(dooly::test::source_path("validate")))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(ShippedValidations, AllLoad) {
  ASSERT_FALSE(shipped().empty());
  for (const fs::path& file : shipped()) EXPECT_NO_THROW(load_validation(file)) << file;
}

TEST(ShippedValidations, JudgeNothingTheyWereFittedOn) {
  for (const fs::path& file : shipped()) {
    const Validation validation = load_validation(file);
    for (const FitSource& source : validation.fit)
      EXPECT_TRUE(source.measurement != validation.measurement || source.first_requests) << file;
  }
}

class RealRun : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { workbench_ = std::make_unique<Workbench>(); }  // the profile is imported once
  static void TearDownTestSuite() { workbench_.reset(); }
  static std::unique_ptr<Workbench> workbench_;
};
std::unique_ptr<Workbench> RealRun::workbench_;

TEST_P(RealRun, SchedulingDecisionsAreThoseOfTheRealEngine) {
  Validation validation = load_validation(dooly::test::source_path("validate") / (std::string(GetParam()) + ".yaml"));
  const fs::path run = validation.measurement.string() + ".iterations.jsonl.gz";
  if (!fs::exists(run)) GTEST_SKIP() << "missing " << run;
  validation.checks = {"decisions"};
  validation.bounds.clear();
  const Outcome outcome = run_validation(validation, *workbench_);
  ASSERT_FALSE(outcome.is_skipped()) << outcome.missing;
  ASSERT_EQ(outcome.comparison.tallies.size(), 3);
  for (const Tally& tally : outcome.comparison.tallies) {
    EXPECT_GT(tally.compared, 200) << tally.name;
    EXPECT_EQ(tally.different, 0) << tally.name << ": " << tally.first_difference;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, RealRun,
                         testing::Values("h200-llama-3.1-8b-conv30", "h200-llama-3.1-8b-conv85",
                                         "h200-llama-3.1-8b-code60", "h200-llama-3.1-8b-longmix",
                                         "h200-llama-3.1-8b-prefix", "h200-llama-3.1-8b-closed256",
                                         "h200-llama-3.1-8b-burst-code", "h200-llama-3.1-8b-smoketight",
                                         "h200-llama-3.1-8b-sync-closed64", "h200-qwen3-8b-conv85",
                                         "h200-qwen3-8b-burst-conv", "h200-qwen3-30b-a3b-conv85",
                                         "h200-qwen3-30b-a3b-burst-conv", "h200-command-r7b-burst-conv"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name)
                             if (c == '-' || c == '.') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace dooly::validate
