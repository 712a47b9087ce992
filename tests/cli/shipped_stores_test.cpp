// The shipped measurements, and those that judge them, are sound, and those of one name open as one.
#include "dooly_process.hpp"
#include "oracle_store/sources.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> portable_files(const char* folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(test::source_path(folder)))
    if (entry.path().string().ends_with(".jsonl.zst")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// "h200" of "h200-vllm-1.jsonl.zst"
std::string name_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find_first_of("-."));
}

std::set<std::string> names(const std::vector<fs::path>& files) {
  std::set<std::string> found;
  for (const fs::path& file : files) found.insert(name_of(file));
  return found;
}

class ShippedStores : public testing::TestWithParam<const char*> {};

TEST_P(ShippedStores, AreSound) {
  const std::vector<fs::path> files = portable_files(GetParam());
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    const ProcessResult result = dooly({"store", "verify", file.string()});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_TRUE(result.out.starts_with(file.string() + ": sound")) << result.out;
  }
}

TEST_P(ShippedStores, FilesOfOneNameUniteWithoutConflicts) {
  const std::vector<fs::path> files = portable_files(GetParam());
  EXPECT_TRUE(names(files).contains("h200"));
  const Scratch scratch;
  for (const std::string& name : names(files)) {
    std::vector<std::string> words{"store", "merge", scratch.name(name + ".jsonl.zst")};
    for (const fs::path& file : files)
      if (name_of(file) == name) words.push_back(file.string());
    const ProcessResult result = dooly(words);
    EXPECT_EQ(result.code, 0) << name << ": " << result.out << result.err;
    EXPECT_EQ(dooly({"store", "verify", words[2]}).code, 0);
  }
}

std::set<oracle::Signature> signatures_of(const fs::path& file) {
  std::set<oracle::Signature> found;
  const auto records = store::open_records(file);
  for (store::Record record; records->next(record);)
    if (const auto* sample = std::get_if<store::SampleRecord>(&record)) found.insert(sample->signature);
  return found;
}

TEST_P(ShippedStores, EveryOperatorIsAnsweredByOneEnvironment) {
  const std::vector<fs::path> files = portable_files(GetParam());
  for (const std::string& name : names(files)) {
    std::vector<fs::path> own;
    std::copy_if(files.begin(), files.end(), std::back_inserter(own),
                 [&](const fs::path& file) { return name_of(file) == name; });
    const auto source = store::open_sample_source(own);
    std::size_t operators = 0;
    EXPECT_NO_THROW({
      for (const oracle::SampleSet& set : source->sets()) {
        EXPECT_EQ(source->samples(set.signature), set.samples) << canonical_json(set.key);
        ++operators;
      }
      for (const fs::path& file : own)
        for (const oracle::Signature& signature : signatures_of(file)) source->samples(signature);
    }) << name;
    EXPECT_GT(operators, 10u) << name;
  }
}

TEST(ShippedStore, ItsNameIsNoNewDirectory) {
  for (const char* verb : {"import", "merge"}) {
    const ProcessResult result = dooly({"store", verb, "h200", "h200-nccl"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "h200: names stores that are only read; './h200' is a new directory\n");
  }
  EXPECT_FALSE(fs::exists("h200"));
}

INSTANTIATE_TEST_SUITE_P(Each, ShippedStores, testing::Values("stores", "validate/held-out"),
                         [](const auto& test) { return test.index == 0 ? "stores" : "held_out"; });

TEST(ShippedStoresByName, AScenarioFindsThemAsOne) {
  const Scratch scratch;
  const std::string scenario =
      scratch.file("s.yaml", small_scenario() + "oracle: [{kind: profiled, store: h200}, roofline]\n");
  const ProcessResult result = dooly({"run", scenario, "--quiet", "--format", "json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto answers = nlohmann::json::parse(result.out).at("oracle").at("answers");
  EXPECT_LT(answers.value("roofline", 0.0), 0.01) << answers;
}

TEST(ShippedStoresByName, ThatTheyHoldNothingOfAGpuOrOfAnEnvironmentIsSaid) {
  const Scratch scratch;
  const std::string scenario = scratch.file("s.yaml", small_scenario());
  const ProcessResult other_gpu =
      dooly({"run", scenario, "--set", "oracle=[{kind: profiled, store: h200}, roofline]", "--set", "gpu=H100-SXM"});
  EXPECT_EQ(other_gpu.code, 0) << other_gpu.err;
  EXPECT_NE((other_gpu.out + other_gpu.err).find("store 'h200' (which holds nothing of H100-SXM), else the roofline"),
            std::string::npos)
      << other_gpu.out << other_gpu.err;
  const ProcessResult no_environment =
      dooly({"run", scenario, "--set", "oracle=[{kind: profiled, store: h200, environment: zzz}, roofline]"});
  EXPECT_EQ(no_environment.code, 2);
  EXPECT_NE(no_environment.err.find("no environment of store 'h200' has 'zzz' in its id or description"),
            std::string::npos)
      << no_environment.err;
}

TEST(ShippedStoresByName, WhatAUserHasUnderTheirNamesIsNotAskedUnlessNamed) {
  const Scratch scratch;
  const std::string scenario = scratch.file("s.yaml", small_scenario());
  const ProcessResult before = dooly({"run", scenario, "--quiet", "--format", "json"});
  ASSERT_EQ(before.code, 0) << before.err;
  scratch.file("h200-mine.jsonl.zst", "no store");
  fs::create_directory(scratch / "h200");
  const ProcessResult after = dooly({"run", scenario, "--quiet", "--format", "json"}, {.directory = scratch.path()});
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_EQ(after.out, before.out);

  const ProcessResult named = dooly({"store", "ls", "h200"}, {.directory = scratch.path()});
  EXPECT_EQ(named.code, 2);
  EXPECT_NE(named.err.find("h200: means two things, " + scratch.name("h200") + " and by name h200-fa2, "),
            std::string::npos)
      << named.err;
  const ProcessResult typed =
      dooly({"check", scenario, "--set", "oracle=[{kind: profiled, store: h200}]"}, {.directory = scratch.path()});
  EXPECT_EQ(typed.code, 2);
  EXPECT_NE(typed.err.find("store: means two things, "), std::string::npos) << typed.err;
  EXPECT_EQ(dooly({"store", "ls", "h200-nccl"}, {.directory = scratch.path()}).code, 0);
}

}  // namespace
}  // namespace dooly::cli
