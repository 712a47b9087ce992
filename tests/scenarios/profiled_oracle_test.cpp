#include "scenarios/find_store.hpp"
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

TEST_F(ProfiledOracle, ANameInFullIsThatStoreAlone) {
  const auto vllm = touch("h200-vllm.jsonl.zst"), extra = touch("h200-vllm-extra.jsonl.zst");
  const std::string oracle = "oracle: {kind: profiled, store: ";
  EXPECT_EQ(first_of(test::load(short_form(oracle + "h200-vllm}\n"))).files, std::vector{vllm});
  EXPECT_EQ(first_of(test::load(short_form(oracle + "h200-vll}\n"))).files, (std::vector{extra, vllm}));
  EXPECT_EQ(first_of(test::load(short_form(oracle + (elsewhere_ / "h200-vllm").string() + "}\n"))).files,
            std::vector{vllm});
}

TEST_F(ProfiledOracle, APathThatIsANameTooIsRefused) {
  touch("s-a.jsonl.zst"), touch("s-b.jsonl.zst");
  const std::filesystem::path here = elsewhere_ / "here";
  std::filesystem::create_directories(here / "s");
  const auto files_of = [&](const char* store) { return find_store(store, here / store, {}); };
  try {
    files_of("s");
    ADD_FAILURE() << "was not refused";
  } catch (const std::string& what) {
    EXPECT_EQ(what, "means two things, " + (here / "s").string() + " and by name s-a, s-b of " + elsewhere_.string() +
                        "; './s' is the first, a name in full one of the others");
  }
  EXPECT_EQ(files_of("./s"), std::vector{here / "./s"});
  EXPECT_EQ(files_of("s-a"), std::vector{elsewhere_ / "s-a.jsonl.zst"});
  std::ofstream(here / "s.jsonl.zst") << "an export beside the directory is no other name";
  ::unsetenv("DOOLY_PATH");
  EXPECT_EQ(files_of("s"), std::vector{here / "s"});
  ::setenv("DOOLY_PATH", elsewhere_.c_str(), 1);
  EXPECT_EQ(files_of("s-a.jsonl.zst"), std::vector{elsewhere_ / "s-a.jsonl.zst"}) << "a name in full";
  EXPECT_THROW(files_of("s.jsonl"), std::string);
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

TEST_F(ProfiledOracle, WithoutOneItIsTheShippedStoreOfTheGpuAndTheRooflineBehindIt) {
  const auto file = touch("h200-a.jsonl.zst");
  Names names = test::known_names();
  std::vector<std::string> asked;
  names.shipped_store = [&](const std::string& gpu) {
    asked.push_back(gpu);
    return gpu == "H200-SXM" ? (elsewhere_ / "h200").string() : "";
  };
  const Scenario measured = test::load(short_form(), {}, names);
  ASSERT_EQ(measured.oracles.size(), 2u);
  EXPECT_EQ(first_of(measured).files, std::vector{file});
  EXPECT_EQ(measured.oracles[1], OracleSpec(RooflineOracleSpec{}));
  EXPECT_EQ(asked, std::vector<std::string>{"H200-SXM"});

  EXPECT_EQ(test::load(short_form(), {"gpu=H100-SXM"}, names).oracles, std::vector<OracleSpec>{RooflineOracleSpec{}});
  EXPECT_EQ(test::load(short_form("oracle: roofline\n"), {}, names).oracles,
            std::vector<OracleSpec>{RooflineOracleSpec{}});
  EXPECT_EQ(test::load(short_form(), {"oracle=roofline"}, names).oracles,
            std::vector<OracleSpec>{RooflineOracleSpec{}});
  const Scenario long_form = test::load(test::two_pools(), {}, names);
  EXPECT_EQ(first_of(long_form).store, elsewhere_ / "h200");
  EXPECT_EQ(first_of(test::load(explain(measured), {}, names)).files, std::vector{file});
}

TEST_F(ProfiledOracle, TheShippedStoreIsNeverAFileOfTheUsersWithItsName) {
  const std::filesystem::path shipped = elsewhere_ / "shipped";
  std::filesystem::create_directory(shipped);
  const std::filesystem::path file = shipped / "h200-a.jsonl.zst";
  std::ofstream(file) << "x";
  touch("h200-mine.jsonl.zst");  // DOOLY_PATH, and where the scenario lies
  touch("h200");
  Names names = test::known_names();
  names.store_directories = {shipped};
  names.shipped_store = [&](const std::string&) { return (shipped / "h200").string(); };
  const Scenario scenario = parse_scenario(short_form(), elsewhere_ / "s.yaml", {}, names);
  EXPECT_EQ(first_of(scenario).files, std::vector{file});
}

TEST_F(ProfiledOracle, OfTwoKindsOfGpuEachHasItsShippedStore) {
  touch("h200-a.jsonl.zst"), touch("h100-a.jsonl.zst");
  Names names = test::known_names();
  bool is_h100_measured = true;
  names.shipped_store = [&](const std::string& gpu) {
    if (gpu != "H200-SXM" && !is_h100_measured) return std::string();
    return (elsewhere_ / (gpu == "H200-SXM" ? "h200" : "h100")).string();
  };
  const std::string two = R"(dooly: 1
workload: {synthetic: {requests: 10, arrivals: {process: poisson, rate: 20/s}, prompt_tokens: 512, output_tokens: 64}}
cluster: {nodes: [{name: a, gpu: H200-SXM}, {name: b, gpu: H100-SXM}]}
pools: [{name: main, model: Qwen/Qwen3-8B, nodes: a}]
)";
  const auto stores_of = [&](const std::string& text) {
    std::vector<std::string> stores;
    for (const OracleSpec& oracle : test::load(text, {}, names).oracles) {
      const auto* profiled = std::get_if<ProfiledOracleSpec>(&oracle);
      stores.push_back(profiled != nullptr ? std::filesystem::path(profiled->store).filename().string() : "roofline");
    }
    return stores;
  };
  EXPECT_EQ(stores_of(two), (std::vector<std::string>{"h200", "h100", "roofline"}));
  is_h100_measured = false;
  EXPECT_EQ(stores_of(two), (std::vector<std::string>{"h200", "roofline"}));
}

}  // namespace
}  // namespace dooly::scenario
