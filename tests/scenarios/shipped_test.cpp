#include "scenarios/load.hpp"
#include "scenarios/write.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace dooly::scenario {
namespace {

TEST(ShippedScenarios, LoadAndSayWhatTheyShow) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dooly::test::source_path("scenarios"))) {
    if (entry.path().extension() != ".yaml") continue;
    ++found;
    std::string first;
    std::getline(std::ifstream(entry.path()) >> std::ws, first);
    EXPECT_EQ(first.substr(0, 2), "# ") << entry.path();
    try {
      const Scenario scenario = load_scenario(entry.path(), {}, {});
      EXPECT_TRUE(parse_scenario(explain(scenario), entry.path(), {}, {}) == scenario) << entry.path();
    } catch (const ScenarioError& error) {
      const std::string what = error.what();
      const bool lacks_data = what.find("DOOLY_DATA") != std::string::npos ||
                              what.find("no such file") != std::string::npos ||
                              what.find("no such store") != std::string::npos;
      EXPECT_TRUE(lacks_data) << what;  // public traces, an imported profile, a built plug-in
    }
  }
  EXPECT_EQ(found, 9);
}

}  // namespace
}  // namespace dooly::scenario
