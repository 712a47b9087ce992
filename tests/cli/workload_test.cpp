#include "dooly_process.hpp"

#include <gtest/gtest.h>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

class WorkloadVerbs : public testing::Test {
 protected:
  Scratch scratch;
  std::string trace =
      scratch.file("trace.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,10\n1,300,30\n2.5,200,20\n");
  std::string unsorted = scratch.file("unsorted.csv", "arrival_s,prompt_tokens,output_tokens\n0,1,1\n2,2,2\n1,3,3\n");
};

TEST_F(WorkloadVerbs, StatsOfATrace) {
  const ProcessResult result = dooly({"workload", "stats", trace});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("requests      3\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("prompt"), std::string::npos);
}

TEST_F(WorkloadVerbs, StatsOfAScenario) {
  const ProcessResult result =
      dooly({"workload", "stats", scratch.file("small.yaml", small_scenario()), "--seed", "3"});
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.out.find("requests      200\n"), std::string::npos) << result.out;
}

TEST_F(WorkloadVerbs, OptionsThatWouldDoNothingAreRefused) {
  EXPECT_EQ(dooly({"workload", "stats", trace, "--set", "seed=3"}).code, 2);
  EXPECT_EQ(dooly({"workload", "stats", scratch.file("small.yaml", small_scenario()), "--format", "azure"}).code, 2);
}

TEST_F(WorkloadVerbs, ConvertWritesADoolyTraceThatConvertsToItself) {
  const std::string azure = scratch.file("azure.csv",
                                         "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
                                         "2023-11-16 18:15:50.9951690,396,109\n");
  const ProcessResult once = dooly({"workload", "convert", azure});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(once.out.substr(0, 15), "# dooly-trace 1");
  EXPECT_EQ(once.err, "2 requests written\n");
  EXPECT_EQ(dooly({"workload", "convert", scratch.file("once.csv", once.out)}).out, once.out);
}

TEST_F(WorkloadVerbs, ConvertToJsonLinesByNameOrOption) {
  EXPECT_EQ(dooly({"workload", "convert", trace, "--out", scratch.name("a.jsonl"), "--quiet"}).code, 0);
  EXPECT_NE(read_file(scratch / "a.jsonl").find("\n{"), std::string::npos);
  EXPECT_EQ(dooly({"workload", "convert", trace, "--to", "jsonl"}).out, read_file(scratch / "a.jsonl"));
  const ProcessResult packed = dooly({"workload", "convert", trace, "--out", scratch.name("a.csv.gz")});
  EXPECT_EQ(packed.code, 2);
  EXPECT_EQ(packed.err,
            scratch.name("a.csv.gz") + ": a trace is written as CSV or JSON lines, got '.gz'; allowed: .csv, .jsonl\n");
}

TEST_F(WorkloadVerbs, UnsortedRowsNameTheCommandThatSorts) {
  const ProcessResult refused = dooly({"workload", "convert", unsorted, "--out", scratch.name("sorted.csv")});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find(unsorted + ":4: row 3:"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("dooly workload convert --sort"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(scratch / "sorted.csv"));
  EXPECT_TRUE(unfinished_files(scratch.path()).empty());
  EXPECT_EQ(dooly({"workload", "convert", unsorted, "--sort", "--out", scratch.name("sorted.csv")}).code, 0);
  EXPECT_EQ(dooly({"workload", "stats", scratch.name("sorted.csv")}).code, 0);
}

TEST_F(WorkloadVerbs, AnExistingFileIsKept) {
  const ProcessResult result = dooly({"workload", "convert", trace, "--out", trace});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, trace + ": exists already; --force replaces it\n");
}

TEST_F(WorkloadVerbs, ATraceThatDoesNotGetOutIsAFailure) {
  const ProcessResult result = dooly({"workload", "convert", trace}, {.out = "/dev/full"});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.err, "standard output: cannot write: No space left on device\n");
}

TEST_F(WorkloadVerbs, AWrongFormatIsNamed) {
  const ProcessResult result = dooly({"workload", "stats", trace, "--format", "azur"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err.substr(0, 84),
            "dooly workload stats: --format: unknown value, got 'azur'; did you mean 'azure'; all");
  EXPECT_EQ(dooly({"workload", "stats", trace, "--format", "azure"}).code, 2);
  EXPECT_EQ(dooly({"workload", "stats", scratch.name("absent.csv")}).code, 2);
}

}  // namespace
}  // namespace dooly::cli
