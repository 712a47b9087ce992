// A dry run refuses what the run itself would.
#include "dooly_process.hpp"

#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"
#include "oracle_store/portable_file.hpp"

#include <gtest/gtest.h>
#include <cstdlib>

namespace dooly::cli {
namespace {

class DryRunRefuses : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(DryRunRefuses, AValueThatWillNotDo) {
  const auto& [option, value] = GetParam();
  const ProcessResult result = dooly({"model", "meta-llama/Llama-3.1-8B", "--dry-run", option, value});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.find(std::string(option) + ": must be "), 0u) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Options, DryRunRefuses,
                         testing::Values(std::pair("--target", "nan"), std::pair("--target", "0"),
                                         std::pair("--budget", "-1s"), std::pair("--budget", "5"),
                                         std::pair("--max-points", "0"), std::pair("--max-num-seqs", "99999999999"),
                                         std::pair("--point-timeout", "0s"), std::pair("--held-out", "0")));

/// A slip in one of several names is no model that cannot be run.
TEST(DryRun, RefusesANameThatNobodyKnows) {
  const ProcessResult result = dooly({"model", "meta-llama/Llama-3.1-8B", "meta-llama/Lama-3.1-8B", "--dry-run"});
  EXPECT_NE(result.code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("unknown model 'meta-llama/Lama-3.1-8B'"), std::string::npos) << result.err;
}

TEST(DryRun, RefusesAModelTwice) {
  const ProcessResult result = dooly({"model", "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B", "--dry-run"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "CONFIG: 'meta-llama/Llama-3.1-8B' comes twice\n");
}

/// A store by its name: found in DOOLY_PATH.
class NamedStore : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("DOOLY_PATH", scratch_.path().c_str(), 1);
    store::PortableSink sink(scratch_.name("named-1.jsonl.zst"));
    oracle::Environment environment;
    environment.gpu = "H200-SXM";
    sink.environment(environment);
    oracle::Sample sample;
    sample.point = {1};
    sample.median_s = 1e-5;
    for (const oracle::PlanEntry& entry : oracle::make_plan(oracle::find_model("meta-llama/Llama-3.1-8B"), {}).entries)
      if (entry.name == "o_proj") sink.sample(entry.key, sample);
    sink.finish();
    std::filesystem::create_directory(scratch_ / "elsewhere");
  }
  void TearDown() override { ::unsetenv("DOOLY_PATH"); }
  ProcessResult run(const std::vector<std::string>& words) {
    return dooly(words, {.directory = scratch_ / "elsewhere"});
  }
  Scratch scratch_;
};

TEST_F(NamedStore, IsReadByADryRunAndNotFilled) {
  std::vector<std::string> words{"model", "meta-llama/Llama-3.1-8B", "--store", "named", "--dry-run"};
  const ProcessResult named = run(words);
  EXPECT_EQ(named.code, 0) << named.err;
  words[3] = "fresh";
  const ProcessResult fresh = run(words);
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_NE(named.out, fresh.out) << "the one has a signature, the other none";
  EXPECT_NE(named.out.find("linear cublas     1           1       323         99.7 %"), std::string::npos) << named.out;
  EXPECT_EQ(fresh.out.find("dense grid"), std::string::npos) << fresh.out;
  words[3] = scratch_.name("named-1.jsonl.zst");
  EXPECT_EQ(run(words).out, named.out);

  const ProcessResult filled = run({"model", "meta-llama/Llama-3.1-8B", "--store", "named"});
  EXPECT_EQ(filled.code, 2);
  EXPECT_EQ(filled.err,
            "--store: must be a directory to fill, but this names stores that are only read; './named' is a new "
            "directory, got 'named'\n");
  EXPECT_TRUE(std::filesystem::is_empty(scratch_ / "elsewhere"));
}

}  // namespace
}  // namespace dooly::cli
