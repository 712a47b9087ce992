// `dooly validate` on the project's runs of a real engine, as a user calls it: each is judged, bounds may be
// missed, scheduling decisions may not differ.
#include "../cli/dooly_process.hpp"
#include "test_support/test_data.hpp"
#include "validate/outcome.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> runs_of_a_real_engine() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(dooly::test::source_path("validate"))) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".yaml" && (name.starts_with("store-") || name.starts_with("h200-")))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ShippedCommand : public testing::TestWithParam<std::string> {};

TEST_P(ShippedCommand, IsJudgedAndItsDecisionsAreThoseOfTheEngine) {
  const fs::path file = dooly::test::source_path("validate") / (GetParam() + ".yaml");
  const fs::path run = load_validation(file).measurement.string() + ".iterations.jsonl.gz";
  if (!fs::exists(run)) GTEST_SKIP() << "missing " << run;
  const cli::ProcessResult result = cli::dooly({"validate", file.string(), "--format", "json"});
  ASSERT_TRUE(result.code == 0 || result.code == 4) << result.code << ": " << result.err;
  const auto judged = nlohmann::json::parse(result.out);
  EXPECT_EQ(judged.at("name"), GetParam());
  EXPECT_EQ(judged.at("met"), result.code == 0);
  std::size_t compared = 0;
  for (const nlohmann::json& tally : judged.at("tallies")) {
    if (!tally.at("name").get<std::string>().starts_with("decisions.")) continue;
    EXPECT_GT(tally.at("compared"), 200) << tally;
    EXPECT_EQ(tally.at("different"), 0) << tally;
    ++compared;
  }
  EXPECT_EQ(compared, 3u);
}

INSTANTIATE_TEST_SUITE_P(Each, ShippedCommand, testing::ValuesIn(runs_of_a_real_engine()), [](const auto& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

TEST(ShippedCommands, AreSoMany) { EXPECT_GE(runs_of_a_real_engine().size(), 28u); }

}  // namespace
}  // namespace dooly::validate
