// `dooly validate` on every validation of the project, as a user calls it: bounds are met but for those of
// expected_misses.txt, and scheduling decisions are those of the engine.
#include "../cli/dooly_process.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kExpectedMisses = "tests/validate/expected_misses.txt";

std::vector<std::string> shipped() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(dooly::test::source_path("validate")))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// By validation: "requests.tpot mean", …
std::map<std::string, std::set<std::string>> expected_misses() {
  std::ifstream file(dooly::test::source_path(kExpectedMisses));
  EXPECT_TRUE(file) << kExpectedMisses;
  std::map<std::string, std::set<std::string>> misses;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string name, series, error;
    EXPECT_TRUE(words >> name >> series >> error) << kExpectedMisses << ": " << line;
    misses[name].insert(series + " " + error);
  }
  return misses;
}

void expect_only_these_missed(const Json& judged, std::set<std::string> expected) {
  for (const Json& bound : judged.at("bounds")) {
    if (bound.at("verdict") != "missed") continue;
    const std::string name = bound.at("series").get<std::string>() + " " + bound.at("error").get<std::string>();
    EXPECT_EQ(expected.erase(name), 1u) << name << ": " << bound.at("found") << ", bound " << bound.at("limit");
  }
  for (const std::string& name : expected) ADD_FAILURE() << name << " is met: delete its line from " << kExpectedMisses;
}

void expect_decisions_of_the_engine(const Json& judged) {
  std::size_t compared = 0;
  for (const Json& tally : judged.at("tallies")) {
    if (!tally.at("name").get<std::string>().starts_with("decisions.")) continue;
    EXPECT_GT(tally.at("compared"), 200) << tally;
    EXPECT_EQ(tally.at("different"), 0) << tally;
    ++compared;
  }
  EXPECT_EQ(compared, 3u);
}

class ShippedCommand : public testing::TestWithParam<std::string> {};

TEST_P(ShippedCommand, IsWithinItsBounds) {
  const fs::path file = dooly::test::source_path("validate") / (GetParam() + ".yaml");
  const cli::ProcessResult result = cli::dooly({"validate", file.string(), "--format", "json"});
  const Json judged = Json::parse(result.out, nullptr, false);
  ASSERT_TRUE(judged.is_object()) << result.code << ": " << result.out << result.err;
  EXPECT_EQ(judged.at("name"), GetParam());
  if (judged.contains("skipped")) {
    const auto why = judged.at("skipped").get<std::string>();
    const std::string path = why.substr(0, why.find(": "));
    ASSERT_FALSE(fs::exists(path)) << why;
    GTEST_SKIP() << "missing " << path;
  }
  auto expected = expected_misses()[GetParam()];
  EXPECT_EQ(result.code, expected.empty() ? 0 : 4) << result.err;
  EXPECT_EQ(judged.at("met"), result.code == 0);
  EXPECT_FALSE(judged.at("bounds").empty());
  expect_only_these_missed(judged, std::move(expected));
  if (judged.at("measurement").at("format") == "vllm-h200-groundtruth") expect_decisions_of_the_engine(judged);
}

INSTANTIATE_TEST_SUITE_P(Each, ShippedCommand, testing::ValuesIn(shipped()), [](const auto& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

TEST(ShippedCommands, AreSoMany) { EXPECT_GE(shipped().size(), 39u); }

TEST(ExpectedMisses, AreOfShippedValidations) {
  const std::vector<std::string> names = shipped();
  for (const auto& [name, bounds] : expected_misses())
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << kExpectedMisses << ": no validation " << name;
}

}  // namespace
}  // namespace dooly::validate
