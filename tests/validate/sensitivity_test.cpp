#include "validate/sensitivity.hpp"

#include "hand_made_run.hpp"

#include "../cli/dooly_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dooly::validate {
namespace {

TEST(Sensitivity, AStepOfOneTermFollowsItAndNothingElse) {
  const cli::Scratch scratch;
  test::write_hand_made_run(scratch.path());
  const Validation validation = load_validation(scratch.file("v.yaml", test::hand_made_validation()));
  Workbench workbench;
  const Sensitivity found = sensitivity(validation, workbench, 0.05);
  EXPECT_EQ(found.series, (std::vector<std::string>{"requests.ttft", "requests.tpot", "requests.e2e"}));
  for (const SensitivityRow& row : found.rows) {
    const double expected = row.term == "clock and other" ? 0.05 : 0;
    for (std::size_t i = 0; i < found.series.size(); ++i) {
      EXPECT_NEAR(row.less[i], -expected, 1e-9) << row.term << ' ' << found.series[i];
      EXPECT_NEAR(row.more[i], expected, 1e-9) << row.term << ' ' << found.series[i];
    }
  }
  EXPECT_TRUE(std::any_of(found.rows.begin(), found.rows.end(),
                          [](const SensitivityRow& row) { return row.term == "clock and other"; }));
}

TEST(Sensitivity, HostTermsShowWhereAPlatformHasThem) {
  const cli::Scratch scratch;
  test::write_hand_made_run(scratch.path());
  std::string text = test::hand_made_validation();
  text.replace(text.find("{host: none}"), 12, "{base: none, host: {input: 10ms}}");  // TTFT 20 ms, half of it input
  const Validation validation = load_validation(scratch.file("v.yaml", text));
  Workbench workbench;
  for (const SensitivityRow& row : sensitivity(validation, workbench, 0.1).rows) {
    if (row.term != "input") continue;
    EXPECT_NEAR(row.more[0], 0.05, 1e-9);
    EXPECT_NEAR(row.more[1], 0, 1e-9);
  }
}

}  // namespace
}  // namespace dooly::validate
