#include "scenarios/write.hpp"

#include "test_files.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace dooly::scenario {
namespace {

using test::short_form;
using Messages = std::vector<std::string>;

class ProfiledOracle : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(elsewhere_);
    ::setenv("DOOLY_PATH", elsewhere_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("DOOLY_PATH");
    std::filesystem::remove_all(elsewhere_);
  }
  std::filesystem::path touch(const std::string& name) {
    std::ofstream(elsewhere_ / name) << "x";
    return elsewhere_ / name;
  }
  static ProfiledOracleSpec first_of(const Scenario& scenario) {
    return std::get<ProfiledOracleSpec>(scenario.oracles.front());
  }

  std::filesystem::path elsewhere_ =
      std::filesystem::temp_directory_path() / ("dooly-stores-" + std::to_string(::getpid()));
};

TEST_F(ProfiledOracle, StoreIsAFileADirectoryOrAName) {
  const auto b = touch("h200-b.jsonl.zst"), a = touch("h200-a.jsonl.zst");
  touch("other.jsonl.zst");
  touch("h200.txt");
  const auto named = first_of(test::load(short_form("oracle: [{kind: profiled, store: h200}, roofline]\n")));
  EXPECT_EQ(named.files, (std::vector{a, b}));
  EXPECT_EQ(named.routing, "balanced");
  const auto file = first_of(test::load(short_form("oracle: {kind: profiled, store: " + b.string() + "}\n")));
  EXPECT_EQ(file.files, std::vector{b});
  const auto directory =
      first_of(test::load(short_form("oracle: {kind: profiled, store: " + elsewhere_.string() + "}\n")));
  EXPECT_EQ(directory.files, std::vector{elsewhere_});
}

TEST_F(ProfiledOracle, ExplainedItLoadsBackEqual) {
  touch("h200-a.jsonl.zst");
  const Scenario one =
      test::load(short_form("oracle: [{kind: profiled, store: h200, routing: power_law_1.2}, roofline]\n"));
  const ProfiledOracleSpec again = first_of(test::load(explain(one)));
  EXPECT_EQ(again.files, first_of(one).files);
  EXPECT_EQ(again.routing, "power_law_1.2");
  touch("h200-b.jsonl.zst");
  const Scenario two = test::load(short_form("oracle: [{kind: profiled, store: h200, environment: vllm}]\n"));
  EXPECT_EQ(first_of(test::load(explain(two))).files, first_of(two).files);
  EXPECT_EQ(input_files(two).size(), 2u);
}

TEST_F(ProfiledOracle, WhatIsNoStoreIsRefused) {
  const Messages messages = test::errors(short_form("oracle: {kind: profiled, store: nothing}\n"));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].rfind("s.yaml:5:33: oracle.store: no such store: neither a directory nor a file, and no "
                              "nothing*.jsonl.zst in ",
                              0),
            0u)
      << messages[0];
  EXPECT_EQ(test::errors(short_form("oracle: {kind: profiled}\n")).size(), 1u);
}

TEST_F(ProfiledOracle, StandsBeforeProfiledAndRooflineOnly) {
  touch("h200.jsonl.zst");
  EXPECT_EQ(
      test::errors(short_form("oracle: [{kind: profiled, store: h200}, {kind: profiled, store: h200}, roofline]\n")),
      Messages{});
  const Messages messages =
      test::errors(short_form("oracle: [{kind: profiled, store: h200}, {kind: fixed, base: 1ms}]\n"));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("answers whole iterations"), std::string::npos) << messages[0];
}

}  // namespace
}  // namespace dooly::scenario
